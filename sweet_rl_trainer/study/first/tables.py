"""The numbers of the report: each method on the test tasks, and methods against one another.

The task is the unit of every interval (`colbench.stats`): seeds and trials are averaged on each task first. So an
interval is about other tasks of the kind, given these trained policies; the variation of trainings is shown by the
seeds, each of which has its own value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct

from colbench.stats import Interval, holm, mean_interval, sign_flip_test
from sweet_rl_trainer.study.first.methods import METHODS, NAMED, Method
from sweet_rl_trainer.study.first.results import Outcome, Results, Row

Measure = Callable[[Outcome], float]
BySeed = Mapping[int, Sequence[Outcome]]
Verdict = Literal["above", "below", "not decided"]
PAPER_TASKS = 1000
"""Of the paper's Table 2 and 3, backend."""


def success(outcome: Outcome) -> float:
    """Return 1 if all hidden tests passed, else 0."""
    return float(outcome.success)


def passed(outcome: Outcome) -> float:
    """Return the share of the hidden tests that passed."""
    return outcome.value


def turns(outcome: Outcome) -> float:
    """Return the number of turns."""
    return float(outcome.turns)


def unanswered(outcome: Outcome) -> float:
    """Return 1 if there was no answer, else 0."""
    return float(not outcome.answered)


def full_label(method: Method) -> str:
    """Return a label that needs no row above it: `SWEET-RL, with a regression head`."""
    return method.label.replace("… ", "SWEET-RL, ")


def rows_of(results: Results, method: str) -> list[Row]:
    """Return a method's rows by seed; the last of two with the same seed counts."""
    found = {row.seed: row for row in results.rows if row.method == method}
    return [found[seed] for seed in sorted(found)]


def on_tests(results: Results, method: str) -> dict[int, tuple[Outcome, ...]]:
    """Return a method's outcomes on the test tasks by seed, without seeds that have not been evaluated."""
    return {row.seed: row.test for row in rows_of(results, method) if row.test}


class Found(Struct, frozen=True, kw_only=True):
    """What a method comes to on some tasks."""

    success: Interval
    passed: Interval
    """Of the hidden tests."""
    turns: float
    unanswered: float
    reply: float | None
    """Tokens, of all replies; None where there was no reply."""
    seeds: dict[int, float]
    """Success of each seed alone."""


def find(by_seed: BySeed) -> Found | None:
    """Return the numbers over all seeds; None if there are no dialogues."""
    outcomes = [each for found in by_seed.values() for each in found]
    if not outcomes:
        return None
    return Found(
        success=interval(outcomes, success),
        passed=interval(outcomes, passed),
        turns=mean(outcomes, turns),
        unanswered=mean(outcomes, unanswered),
        reply=reply_tokens(outcomes),
        seeds={seed: mean(found, success) for seed, found in by_seed.items() if found},
    )


def by_task(outcomes: Iterable[Outcome], measure: Measure) -> dict[str, list[float]]:
    """Return the measure of each dialogue by task."""
    found: dict[str, list[float]] = {}
    for each in outcomes:
        found.setdefault(each.task, []).append(measure(each))
    return found


def interval(outcomes: Iterable[Outcome], measure: Measure) -> Interval:
    """Return the mean over tasks of a measure between 0 and 1, with its interval."""
    return mean_interval(by_task(outcomes, measure).values())


def mean(outcomes: Iterable[Outcome], measure: Measure) -> float:
    """Return the mean over tasks alone. There must be an outcome."""
    means = _task_means(outcomes, measure)
    return sum(means.values()) / len(means)


def _task_means(outcomes: Iterable[Outcome], measure: Measure) -> dict[str, float]:
    return {task: sum(values) / len(values) for task, values in by_task(outcomes, measure).items()}


def reply_tokens(outcomes: Sequence[Outcome]) -> float | None:
    """Return the mean number of tokens over all replies, one in each turn."""
    replies = sum(each.turns for each in outcomes)
    return sum(each.reply_tokens for each in outcomes) / replies if replies else None


def side(low: float | None, high: float | None, level: float = 0.0) -> Verdict:
    """Return the position of an interval relative to a level; it is not decided without ends."""
    if low is not None and low > level:
        return "above"
    return "below" if high is not None and high < level else "not decided"


class Difference(Struct, frozen=True, kw_only=True):
    """How far a method is ahead of another one on the same tasks, with the seeds that both have."""

    points: Interval
    """Of success; shares, not per cent."""
    p: float
    """Of `colbench.stats.sign_flip_test`."""
    seeds: tuple[float, ...]
    """The same for each seed alone."""

    @property
    def repeated(self) -> bool:
        """True if there are several seeds."""
        return len(self.seeds) > 1

    @property
    def verdict(self) -> Verdict:
        """The verdict that the intervals by task and by seed agree on; a single seed has the first alone."""
        found = {side(self.points.low, self.points.high)}
        if self.by_seed:
            mean, reach = self.by_seed
            found.add(side(mean - reach, mean + reach))
        return found.pop() if len(found) == 1 else "not decided"

    @property
    def by_seed(self) -> tuple[float, float] | None:
        """The mean of the seeds, and the half-width of its 95 % interval by Student's t; None for a single seed.

        It reflects the variation of trainings for these tasks.
        """
        from scipy.stats import t

        n = len(self.seeds)
        if not self.repeated:
            return None
        return fmean(self.seeds), float(t.ppf(0.975, n - 1)) * stdev(self.seeds) / n**0.5


def difference(mine: BySeed, theirs: BySeed) -> Difference | None:
    """Return my successes minus theirs; None if no task has both with the same seed."""
    return contrast(((1.0, mine), (-1.0, theirs)))


def contrast(terms: Sequence[tuple[float, BySeed]]) -> Difference | None:
    """Return a paired, weighted sum of successes; None if no task has all of them with the same seed.

    Its largest value must be 1, its smallest −1.
    """
    tasks: dict[str, list[float]] = {}
    seeds = []
    for seed in sorted(set.intersection(*({*outcomes} for _, outcomes in terms))):
        means = [(weight, _task_means(outcomes[seed], success)) for weight, outcomes in terms]
        known = set.intersection(*({*found} for _, found in means))
        ahead = {
            task: sum(weight * found[task] for weight, found in means)
            for task in means[0][1]
            if task in known
        }
        for task, value in ahead.items():
            tasks.setdefault(task, []).append(value)
        if ahead:
            seeds.append(sum(ahead.values()) / len(ahead))
    if not tasks:
        return None
    return Difference(
        points=mean_interval(tasks.values(), (-1.0, 1.0)),
        p=sign_flip_test([sum(values) / len(values) for values in tasks.values()]),
        seeds=tuple(seeds),
    )


def planned(results: Results) -> list[Method]:
    """Return the methods of the study, and those with a row in addition."""
    names = {*results.study.get("methods", NAMED), *(row.method for row in results.rows)}
    return [method for method in METHODS if method.name in names]


def adjusted_p(found: Mapping[str, Difference]) -> dict[str, float]:
    """Return the p-values of differences by name, adjusted for their number by Holm's method."""
    return dict(zip(found, holm([each.p for each in found.values()]), strict=True))


def against(results: Results, other: str) -> dict[str, Difference]:
    """Return all methods against one of them by name, without those that have no numbers."""
    theirs = on_tests(results, other)
    found = {
        method.name: difference(on_tests(results, method.name), theirs)
        for method in METHODS
        if method.name != other
    }
    return {name: each for name, each in found.items() if each}


class Ordering(Struct, frozen=True, kw_only=True):
    """Two methods as the paper orders them, and as this study does."""

    better: Method
    """In the paper."""
    worse: Method
    paper: float
    """Points between them."""
    noise: float
    """Points that the paper's own interval reaches to either side, from its number of tasks (it gives none)."""
    ours: Difference | None

    @property
    def verdict(self) -> Literal["as in the paper", "reversed", "not decided", "missing"]:
        """The verdict on the paper's order."""
        if self.ours is None:
            return "missing"
        found = self.ours.verdict
        if found == "not decided":
            return found
        return "as in the paper" if found == "above" else "reversed"


def orderings(results: Results) -> list[Ordering]:
    """Return every two methods of the study with numbers in the paper, the greatest difference first."""
    known = sorted(
        ((method.paper, method) for method in planned(results) if method.paper is not None),
        key=lambda each: -each[0],
    )
    tests = {method.name: on_tests(results, method.name) for _, method in known}
    found = [
        Ordering(
            better=better,
            worse=worse,
            paper=high - low,
            noise=1.96 * (_variance(high) + _variance(low)) ** 0.5,
            ours=difference(tests[better.name], tests[worse.name]),
        )
        for (high, better), (low, worse) in combinations(known, 2)
    ]
    return sorted(found, key=lambda each: -each.paper)


def _variance(rate: float) -> float:
    """Return the variance of a rate in percent over the paper's tasks."""
    return rate * (100 - rate) / PAPER_TASKS
