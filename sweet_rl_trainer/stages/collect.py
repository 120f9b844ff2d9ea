"""Dialogues collected by the harness: `colbench eval` as a user would call it, a run after the other.

FOLDER/0, FOLDER/1, …    run folders, which go on where they were when the stage was killed
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import SELECTION, RunConfig
from colbench.errors import UserError
from sweet_rl_trainer.harness import evaluate
from sweet_rl_trainer.stages.base import model_in
from sweet_rl_trainer.stages.stage import Job

MODEL = "{model}"
UNSCORED = 1


def collect(job: Job, runs: Sequence[RunConfig]) -> dict[str, Any]:
    """Make the runs. Raises UserError where one of them does not come to its end."""
    for number, config in enumerate(runs):
        if MODEL in config.agent:
            agent = config.agent.replace(MODEL, str(model_in(job.inputs["model"]).resolve()))
            config = replace(config, agent=agent)  # noqa: PLW2901 - the same, with the model's place
        _run(config, job.folder / str(number))
    return {"runs": len(runs)}


def selection(config: RunConfig) -> dict[str, Any]:
    """Which dialogues a run has; the rest of what matters is in `RunConfig.pins`."""
    whole = msgspec.to_builtins(config)
    return {name: whole[name] for name in sorted(SELECTION)}


def _run(config: RunConfig, folder: Path) -> None:
    with (folder.parent / f"{folder.name}.txt").open("wb") as said:
        code = evaluate(config, folder, said, progress=True)
    if code == UNSCORED:
        raise UserError(f"collect: some dialogues of {folder} have no score; call again to go on")
    if code:
        raise UserError(f"collect: `colbench eval` stopped with code {code}")
