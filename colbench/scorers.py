"""Extra scorers: metrics of other packages, taken of each answer next to the domain's own.

A package registers one in the entry-point group `colbench.scorers`; `--scorers NAME` takes its metrics in a run.
They never change a verdict: `Score.value` and `Score.success` stay the domain's.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol

from msgspec.structs import replace

from colbench.domain import Metric
from colbench.errors import ScorerError, UserError, boundary, describe_exception
from colbench.interfaces import ProgressScorer, Scorer
from colbench.score import Score
from colbench.task import Task

GROUP = "colbench.scorers"


class ExtraScorer(Protocol):
    """Measures answers by metrics of its own.

    The entry point is a class, or a function without arguments, that builds it.
    """

    metrics: Sequence[Metric]
    """All of the role `detail`; their names must differ from those of the domain's metrics."""

    async def measure(self, task: Task, answer: str) -> dict[str, float]:
        """Return the metrics of an answer by name; leave out those that cannot be taken."""
        ...


def find_scorers(names: Sequence[str]) -> list[ExtraScorer]:
    """Build the extra scorers of these names. Raises UserError if one is not installed or cannot be built."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    found: list[ExtraScorer] = []
    for name in names:
        if name not in points:
            known = ", ".join(sorted(points)) or "none"
            raise UserError(f"--scorers {name}: no such scorer; installed are {known}")
        try:
            found.append(points[name].load()())
        except Exception as cause:
            raise UserError(
                f"--scorers {name}: it cannot be built\n{describe_exception(cause)}"
            ) from cause
    return found


def with_extras(scorer: Scorer, extras: Sequence[ExtraScorer]) -> Scorer:
    """Return a scorer that also takes the metrics of the extra scorers; without any, the scorer itself."""
    if not extras:
        return scorer
    both = _ProgressWithExtras if isinstance(scorer, ProgressScorer) else _WithExtras
    return both(scorer, extras)


class _WithExtras:
    def __init__(self, scorer: Scorer, extras: Sequence[ExtraScorer]) -> None:
        self._scorer = scorer
        self._extras = extras

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        scores = await self._scorer.score(task, answer)
        taken: dict[str, float] = {}
        for extra in self._extras:
            with boundary(ScorerError):
                taken |= await extra.measure(task, answer)
        return {
            mode: replace(score, metrics={**taken, **score.metrics})
            for mode, score in scores.items()
        }


class _ProgressWithExtras(_WithExtras):
    _scorer: ProgressScorer

    async def score_turn(self, task: Task, said: str) -> Score | None:
        return await self._scorer.score_turn(task, said)
