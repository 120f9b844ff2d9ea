"""A training as a stage: a process of its own, or several under `accelerate launch`, so all its memory comes back.

FOLDER/task.json    what is to be trained, for the processes
FOLDER/run/         the run, which goes on where it was (`training`)
FOLDER/run/model/   what was trained: a whole model, or adapters
"""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import UserError
from sweet_rl_trainer.recipe import LaunchSettings
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.stages.base import model_in
from sweet_rl_trainer.stages.files import HELD_OUT, TRAIN
from sweet_rl_trainer.stages.stage import Job
from sweet_rl_trainer.subprocesses import run

RUN, REFERENCES, TASK = "run", "references", "task.json"
MEMORY = "memory.json"
"""Peak memory of a process in bytes: of the accelerator where there is one."""
CHILD = "sweet_rl_trainer.stages.child"


class Task(Struct, frozen=True, kw_only=True, tag="examples"):
    """What the processes are told: paths, and how to train."""

    base: str
    examples: str
    references: str | None
    """None: the objective has no reference."""
    settings: TrainSettings
    adapters: LoraSettings | None


def train(
    job: Job,
    settings: TrainSettings,
    adapters: LoraSettings | None,
    launch: LaunchSettings,
    *,
    referred: bool,
) -> dict[str, Any]:
    """Train on the examples of the input `data`, from the model of the input `model`.

    Raises UserError when a process stops with an error, which it has told.
    """
    task = Task(
        base=str(model_in(job.inputs["model"])),
        examples=str(job.inputs["data"]),
        references=str(job.shared / REFERENCES) if referred else None,
        settings=settings,
        adapters=adapters,
    )
    launch_processes(job, task, launch)
    memory = msgspec.json.decode((job.folder / MEMORY).read_bytes())
    return {**last_values(job.folder / RUN), "memory": memory}


def launch_processes(job: Job, task: Struct, launch: LaunchSettings) -> None:
    """Start the processes and wait for them. Raises UserError if one stops with an error, which it has told."""
    (job.folder / TASK).write_bytes(msgspec.json.format(msgspec.json.encode(task)))
    wanted = [*command(launch), str(job.folder)]
    if code := run(wanted):
        raise UserError(f"{job.folder}: training stopped with code {code}, see above")


def command(launch: LaunchSettings) -> list[str]:
    """How the processes are started. Raises UserError for a configuration that is not there."""
    python = [sys.executable, "-m"]
    if not launch.config:
        return [*python, CHILD]
    count = [f"--num_processes={launch.processes}"]
    config = f"--config_file={_config(launch.config)}"
    return [*python, "accelerate.commands.launch", config, *count, *launch.args, "-m", CHILD]


def _config(name: str) -> Path:
    with as_file(files("sweet_rl_trainer").joinpath("configs")) as folder:
        shipped = sorted(path.stem for path in folder.glob("*.yaml"))
        path = folder / f"{name}.yaml" if name in shipped else Path(name)
    if not path.is_file():
        raise UserError(f"launch.config {name!r}: neither a file nor one of {', '.join(shipped)}")
    return path


def last_values(run: Path) -> dict[str, Any]:
    """The last of each value that a training logged."""
    log = (run / "log.jsonl").read_bytes().splitlines()
    values: dict[str, Any] = {}
    for line in log:
        values |= msgspec.json.decode(line)
    return values


def trained(folder: Path) -> Path:
    """What a training stage made."""
    return folder / RUN / "model"


def examples_of(folder: Path) -> tuple[Path, Path]:
    """The files of both sides."""
    return folder / TRAIN, folder / HELD_OUT
