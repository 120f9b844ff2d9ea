"""Dialogues collected by the harness: `colbench eval` as a user would call it.

FOLDER/run/               the run folder, which is resumed if the stage was killed
FOLDER/run.config.json    the run's configuration
FOLDER/report.txt         the report
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.version import __version__
from sweet_rl_trainer.harness import evaluate
from sweet_rl_trainer.stages.base import model_in
from sweet_rl_trainer.stages.stage import Job

MODEL = "{model}"
RUN = "run"
UNSCORED = 1


def collect(job: Job, config: RunConfig) -> dict[str, Any]:
    """Make the run. Raises UserError if it does not come to its end."""
    if MODEL in config.agent:
        agent = config.agent.replace(MODEL, str(model_in(job.inputs["model"]).resolve()))
        config = replace(config, agent=agent)
    with (job.folder / "report.txt").open("wb") as said:
        code = evaluate(config, job.folder / RUN, said, progress=True)
    if code == UNSCORED:
        raise UserError(
            f"collect: some dialogues of {job.folder} have no score; call again to go on"
        )
    if code:
        raise UserError(f"collect: `colbench eval` stopped with code {code}")
    return {"agent": config.agent}


def settings(config: RunConfig) -> dict[str, Any]:
    """Return what the dialogues of a run depend on: its configuration and the content of its tasks."""
    file = Path(config.tasks).expanduser()
    tasks = sha256(file.read_bytes()).hexdigest() if file.is_file() else __version__
    return config.pins() | config.selection() | {"content": tasks}
