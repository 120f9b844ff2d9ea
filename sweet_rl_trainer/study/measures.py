"""The measures of the report, with intervals over tasks and over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from msgspec import Struct

from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.study.results import Exchange, Outcome, Results

Measure = Callable[[Outcome], float | None]
"""A measure of one dialogue, a share in [0, 1]; None if the dialogue does not count."""
BySeed = Mapping[int, Sequence[Outcome]]
LEVEL = 0.975
"""The quantile at the upper end of a two-sided 95% interval."""


def success(outcome: Outcome) -> float:
    """Return 1 if all hidden tests passed, else 0."""
    return float(outcome.success)


def passed(outcome: Outcome) -> float:
    """Return the share of the hidden tests that passed."""
    return outcome.value


def answered(outcome: Outcome) -> float:
    """Return 1 if the agent gave an answer, 0 if the turn limit ended the dialogue or the agent failed."""
    return float(outcome.answered)


def told(outcome: Outcome) -> float | None:
    """Return the share of hidden decisions that were revealed before the answer; None if the task hides no decision."""
    return outcome.told / outcome.hidden if outcome.hidden else None


def success_if_told(outcome: Outcome) -> float | None:
    """Return the success of a dialogue that was answered after all hidden decisions were revealed; otherwise None."""
    known = outcome.answered and outcome.told == outcome.hidden
    return float(outcome.success) if known else None


MEASURES: Mapping[str, Measure] = {
    "success": success,
    "tests passed": passed,
    "facts revealed before the answer": told,
    "success if all facts were revealed": success_if_told,
}


class Summary(Struct, frozen=True, kw_only=True):
    """A measure of one arm, or a difference between two arms, over seeds."""

    tasks: Interval
    """The interval over tasks; each task is first averaged over seeds."""
    seeds: tuple[float, ...]
    """The mean for each seed."""

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.seeds)

    @property
    def reach(self) -> float | None:
        """The half-width of the 95% interval over seeds (Student's t); None for a single seed."""
        from scipy.stats import t

        n = len(self.seeds)
        return float(t.ppf(LEVEL, n - 1)) * stdev(self.seeds) / n**0.5 if n > 1 else None

    @property
    def decided(self) -> bool:
        """True if the interval over tasks and the interval over seeds both exclude 0, on the same side."""
        if self.reach is None or self.tasks.low is None or self.tasks.high is None:
            return False
        above = self.tasks.low > 0 and self.mean - self.reach > 0
        return above or (self.tasks.high < 0 and self.mean + self.reach < 0)


def summary(by_seed: BySeed, measure: Measure) -> Summary | None:
    """Return the summary of a measure; None if no dialogue counts."""
    return _summary({seed: _by_task(each, measure) for seed, each in by_seed.items()})


def difference(mine: BySeed, theirs: BySeed, measure: Measure) -> Summary | None:
    """Return how much `mine` exceeds `theirs`, paired by seed and task; None if the two share no such pair."""
    ahead = {}
    for seed in sorted(mine.keys() & theirs.keys()):
        one, other = _by_task(mine[seed], measure), _by_task(theirs[seed], measure)
        ahead[seed] = {task: one[task] - other[task] for task in one if task in other}
    return _summary(ahead, (-1.0, 1.0))


def _by_task(outcomes: Sequence[Outcome], measure: Measure) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for each in outcomes:
        value = measure(each)
        if value is not None:
            found.setdefault(each.task, []).append(value)
    return {task: fmean(values) for task, values in found.items()}


def _summary(
    by_seed: Mapping[int, Mapping[str, float]], bounds: tuple[float, float] = (0.0, 1.0)
) -> Summary | None:
    tasks: dict[str, list[float]] = {}
    for found in by_seed.values():
        for task, value in found.items():
            tasks.setdefault(task, []).append(value)
    if not tasks:
        return None
    means = tuple(fmean(found.values()) for found in by_seed.values() if found)
    return Summary(tasks=mean_interval(tasks.values(), bounds), seeds=means)


def on_tests(results: Results, arm: str) -> dict[int, tuple[Outcome, ...]]:
    """Return an arm's outcomes on the test tasks, keyed by seed."""
    return {row.seed: row.test for row in results.rows if row.arm == arm}


def exchanged(results: Results, asker: str, writer: str) -> dict[int, tuple[Outcome, ...]]:
    """Return the outcomes of the dialogues in which `asker` asks and `writer` writes, keyed by seed."""
    if asker == writer:
        return on_tests(results, asker)
    found: list[Exchange] = [
        each for each in results.exchanges if (each.asker, each.writer) == (asker, writer)
    ]
    return {each.seed: each.test for each in found}
