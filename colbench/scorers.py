"""Extra scorers: metrics from other packages, computed for each answer in addition to the domain's own metrics.

A package registers a scorer in the entry-point group `colbench.scorers`; `--scorers NAME` computes its metrics.
Extra scorers never change a verdict: `Score.value` and `Score.success` come from the domain's scorer alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from math import inf
from typing import Any, Protocol

from msgspec.structs import replace

from colbench.config_errors import did_you_mean
from colbench.domain import Metric
from colbench.errors import ScorerError, UserError, boundary, describe_exception
from colbench.interfaces import ProgressScorer, ReplyScorer, Scorer
from colbench.rollout import Followed
from colbench.score import Score
from colbench.task import Task

GROUP = "colbench.scorers"


class ExtraScorer(Protocol):
    """A scorer that measures answers with its own metrics.

    The entry point is a class, or a function without arguments, that builds the scorer. It can also be a function that
    takes task and answer and returns a number; the metric then has the entry point's name (see `FunctionScorer`).
    """

    metrics: Sequence[Metric]
    """The metrics, all of the role `detail`. Their names must differ from the names of the domain's metrics.

    If this is an attribute of the scorer's class, reports read the metrics without building the scorer.
    """

    async def measure(self, task: Task, answer: str) -> dict[str, float]:
        """Return the metrics of an answer by name; leave out metrics that cannot be computed."""
        ...


def find_scorers(names: Sequence[str]) -> list[ExtraScorer]:
    """Build the extra scorers of these names. Raises UserError if a scorer is not installed or cannot be built."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    found: list[ExtraScorer] = []
    for name in names:
        if name not in points:
            known = ", ".join(sorted(points)) or "none"
            hint = did_you_mean(name, points, then=f"installed: {known}")
            raise UserError(f"--scorers {name}: unknown scorer{hint}")
        try:
            found.append(_build(name, points[name].load()))
        except Exception as cause:
            raise UserError(
                f"--scorers {name}: it cannot be built\n{describe_exception(cause)}"
            ) from cause
    return found


@cache
def extra_metric(name: str) -> Metric:
    """Return the metric `name` as declared by an installed extra scorer, or else `plain_metric(name)`."""
    declared = (metric for point in sorted(entry_points(group=GROUP)) for metric in _metrics(point))
    return next((metric for metric in declared if metric.name == name), plain_metric(name))


def plain_metric(name: str) -> Metric:
    """Return a metric without unit or bounds."""
    return Metric(name=name, label=name.replace("_", " "), unit="", bounds=(-inf, inf))


def _metrics(point: EntryPoint) -> Sequence[Metric]:
    """Return the metrics that a scorer declares; () if the scorer cannot be loaded, so that reports still work."""
    try:
        loaded = point.load()
        declared = getattr(loaded, "metrics", None)
        if not isinstance(declared, list | tuple):
            declared = _build(point.name, loaded).metrics
    except Exception:
        return ()
    return declared


def _build(name: str, loaded: Any) -> ExtraScorer:
    scorer: ExtraScorer = FunctionScorer(name, loaded) if _is_measure(loaded) else loaded()
    return scorer


def _is_measure(loaded: object) -> bool:
    """Return True if the object is a function that takes a task and an answer."""
    if not inspect.isfunction(loaded):
        return False
    try:
        inspect.signature(loaded).bind("task", "answer")
    except TypeError:
        return False
    return True


class FunctionScorer:
    """An extra scorer made from a function, plain or async, that takes a task and an answer and returns a number.

    The function returns None if an answer has no value. It may have an attribute `metrics`, a tuple with one `Metric`.
    """

    def __init__(self, name: str, function: Callable[[Task, str], Any]) -> None:
        self.metrics: Sequence[Metric] = getattr(function, "metrics", (plain_metric(name),))
        self._function = function

    async def measure(self, task: Task, answer: str) -> dict[str, float]:
        """Return the function's value for an answer, with the metric's name as its key; {} if the value is None."""
        value = self._function(task, answer)
        if inspect.isawaitable(value):
            value = await value
        return {} if value is None else {self.metrics[0].name: float(value)}


def with_extras(scorer: Scorer, extras: Sequence[ExtraScorer]) -> Scorer:
    """Return a scorer that also computes the metrics of `extras`; without extras, return `scorer` itself."""
    if not extras:
        return scorer
    if isinstance(scorer, ReplyScorer):
        return _RepliesWithExtras(scorer, extras)
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


class _RepliesWithExtras(_ProgressWithExtras):
    _scorer: ReplyScorer

    async def score_replies(
        self, task: Task, shown: Sequence[str], replies: Sequence[str | None]
    ) -> list[Followed | None]:
        return await self._scorer.score_replies(task, shown, replies)
