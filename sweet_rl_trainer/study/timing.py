"""Whether scores say when to answer: of candidates at a turn, answers against other replies, by what is still hidden.

An actor learns to answer where answers score higher. It should be where nothing is hidden any more, and not before.

FOLDER/timing.json   `results.Timing` for each number of hidden facts
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from colbench.stats import mean_interval
from colbench.task import Task
from sweet_rl_trainer.methods.critic.states import still_hidden
from sweet_rl_trainer.methods.ranking.calibrate import answers_and_others
from sweet_rl_trainer.methods.ranking.files import read_scored
from sweet_rl_trainer.pipeline import inputs, stage
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.study.judges import bounds
from sweet_rl_trainer.study.results import Timing

if TYPE_CHECKING:
    from sweet_rl_trainer.methods.ranking.turns import Scored

TIMING = "timing.json"
RANKED = "ranked"
"""The input with the scores; the others are those of the dialogues."""


def timing(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Write the timing; return the share of turns with nothing hidden at which an answer scores higher."""
    dialogues = inputs.load(recipe.data, job.inputs)
    found = timed(
        read_scored(job.inputs[RANKED], dialogues.by_id), inputs.tasks(recipe.data, job.inputs)
    )
    (job.folder / TIMING).write_bytes(msgspec.json.encode(found))
    return {"known": next((each.share[0] for each in found if not each.hidden), None)}


def read(folder: Path) -> tuple[Timing, ...]:
    """Read the timing of a stage. Raises DataError if the file is damaged."""
    return stage.read(folder / TIMING, tuple[Timing, ...])


def timed(scored: Iterable[Scored], tasks: Mapping[str, Task]) -> tuple[Timing, ...]:
    """Return the timing by the number of hidden facts; each task counts the same, and each turn within it.

    A tie is half. `tasks` are by their hash; turns of other tasks, and of tasks without facts, are left out.
    """
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in scored:
        turn = each.candidates.turn
        task = tasks.get(turn.trajectory.task_hash)
        above = _above(each)
        if task is not None and task.difficulty and above is not None:
            hidden = list(still_hidden(turn.trajectory, task))[turn.number]
            found[hidden][turn.trajectory.task_hash].append(above)
    return tuple(
        Timing(
            hidden=hidden,
            turns=sum(map(len, by_task.values())),
            share=bounds(mean_interval(by_task.values())),
        )
        for hidden, by_task in sorted(found.items())
    )


def _above(scored: Scored) -> float | None:
    """Return how often an answer scores higher than another reply; None if either kind is missing."""
    answers, others = answers_and_others(scored)
    if not answers or not others:
        return None
    wins = sum((one > other) + 0.5 * (one == other) for one in answers for other in others)
    return wins / (len(answers) * len(others))
