"""The program that starts the processes of a training run."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from colbench.errors import UserError
from sweet_rl_trainer.pipeline.recipe import LaunchSettings


def launcher(launch: LaunchSettings) -> list[str]:
    """Return the module that starts the processes, with its arguments; [] if `launch.config` is "" (one process).

    Raises UserError for a configuration that does not exist.
    """
    if not launch.config:
        return []
    count = f"--num_processes={launch.processes}"
    config = f"--config_file={_config(launch.config)}"
    return ["accelerate.commands.launch", config, count, *launch.args, "-m"]


def _config(name: str) -> Path:
    with as_file(files("sweet_rl_trainer").joinpath("configs")) as folder:
        shipped = sorted(path.stem for path in folder.glob("*.yaml"))
        path = folder / f"{name}.yaml" if name in shipped else Path(name)
    if not path.is_file():
        raise UserError(f"launch.config {name!r}: neither a file nor one of {', '.join(shipped)}")
    return path
