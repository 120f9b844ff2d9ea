"""The planned cells of a run, and what each is worth under a scoring mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from colbench.config import ScoringMode
from colbench.domain import get_domain, leading_metric
from colbench.rollout import Rollout
from colbench.score import Score
from colbench.task import Task

T = TypeVar("T")
Lead = str
"""The measure that a domain's report is about; see `leading_measure`."""
Grid = tuple[tuple[Rollout | None, ...], ...]
"""One row for each task, one place for each trial; None where there is no rollout yet."""


class Cells(Struct, frozen=True, kw_only=True):
    """The cells of one domain, in the order of the tasks."""

    grid: Grid

    @property
    def trials(self) -> int:
        """Planned for each task."""
        return len(self.grid[0])

    @property
    def planned(self) -> int:
        """How many cells there are."""
        return len(self.grid) * self.trials

    @property
    def rollouts(self) -> list[Rollout]:
        """Those that there are."""
        return [rollout for row in self.grid for rollout in row if rollout]

    @property
    def whole(self) -> Cells:
        """Only the dialogues that came to an answer, scored or not."""
        return self.keep(lambda rollout: rollout.ended_by != "failure")

    def keep(self, condition: Callable[[Rollout], bool]) -> Cells:
        """The same grid with None for every rollout that does not meet the condition."""
        return Cells(
            grid=tuple(
                tuple(each if each and condition(each) else None for each in row)
                for row in self.grid
            )
        )

    def clusters(self, measure: Callable[[Rollout], T | None]) -> list[list[T]]:
        """By task, the measures of its rollouts that are not None."""
        return [
            [x for each in row if each and (x := measure(each)) is not None] for row in self.grid
        ]


def plan(tasks: Iterable[Task], trials: int, rollouts: Sequence[Rollout]) -> Cells:
    """Put rollouts into their cells by task id and trial; the last one of a cell counts."""
    found = {(rollout.task_id, rollout.trial): rollout for rollout in rollouts}
    grid = tuple(tuple(found.get((task.id, trial)) for trial in range(trials)) for task in tasks)
    return Cells(grid=grid)


def leading_measure(domain: str, rollouts: Sequence[Rollout]) -> Lead:
    """What the report of a domain leads with.

    In frontend design that is the cosine, but `layout` unless every page that was measured has the cosine: it needs
    CLIP weights, and a mean over a part of the pages would pass for one over all.
    """
    return leading_metric(get_domain(domain), rollouts).name


def measured(score: Score | None, measure: str) -> float | None:
    """One measure of a verdict: its value, or one of its metrics; None: not taken."""
    if score is None:
        return None
    if measure in ("tests_passed", "cosine"):
        return score.value
    return score.metrics.get(measure)


def value(rollout: Rollout, mode: ScoringMode, measure: str) -> float | None:
    """What a cell is worth by one measure; None: not scored. A failure of the agent is worth 0."""
    found = measured(rollout.scores.get(mode), measure)
    return 0.0 if found is None and agent_failed(rollout) else found


def unjudged(rollout: Rollout, mode: ScoringMode, lead: Lead) -> bool:
    """Whether nothing failed and there is yet no verdict: the task's reference cannot be compared with."""
    scored = rollout.scores.get(mode) is not None
    return scored and rollout.settled and value(rollout, mode, lead) is None


def success(rollout: Rollout, mode: ScoringMode) -> bool | None:
    """Whether a cell succeeded; None: not scored, or a page. A failure of the agent is none."""
    score = rollout.scores.get(mode)
    if score and score.success is not None:
        return score.success
    return False if agent_failed(rollout) and rollout.domain == "backend" else None


def agent_failed(rollout: Rollout) -> bool:
    """Whether it was the agent under test that failed."""
    return rollout.failure is not None and rollout.failure.boundary == "agent"
