"""The numbers of the report: each method on the test tasks, and methods against one another.

The task is the unit of every interval (`colbench.stats`): what seeds and trials came to on a task is averaged first. So
an interval speaks of other tasks of the kind, given these trained policies; how much training anew changes is shown by
the seeds, each of which has its own value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct

from colbench.stats import Interval, holm, mean_interval, sign_flip_test
from sweet_rl_trainer.study.methods import METHODS, NAMED, Method
from sweet_rl_trainer.study.results import Outcome, Results, Row

Measure = Callable[[Outcome], float]
BySeed = Mapping[int, Sequence[Outcome]]
Verdict = Literal["above", "below", "not decided"]
PAPER_TASKS = 1000
"""Of the paper's Table 2 and 3, backend."""


def success(outcome: Outcome) -> float:
    """1 if all hidden tests passed."""
    return float(outcome.success)


def passed(outcome: Outcome) -> float:
    """The share of the hidden tests that passed."""
    return outcome.value


def turns(outcome: Outcome) -> float:
    """The number of turns."""
    return float(outcome.turns)


def unanswered(outcome: Outcome) -> float:
    """1 if there was no answer."""
    return float(not outcome.answered)


def full_label(method: Method) -> str:
    """A label that needs no row above it: `SWEET-RL, with a regression head`."""
    return method.label.replace("… ", "SWEET-RL, ")


def rows_of(results: Results, method: str) -> list[Row]:
    """A method's rows by seed; of two with the same seed the last one."""
    found = {row.seed: row for row in results.rows if row.method == method}
    return [found[seed] for seed in sorted(found)]


def on_tests(results: Results, method: str) -> dict[int, tuple[Outcome, ...]]:
    """A method's outcomes on the test tasks, by seed; without seeds that were not evaluated yet."""
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
    """The numbers over all seeds; None if there is no dialogue."""
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
    """The measure of each of a task's dialogues."""
    found: dict[str, list[float]] = {}
    for each in outcomes:
        found.setdefault(each.task, []).append(measure(each))
    return found


def interval(outcomes: Iterable[Outcome], measure: Measure) -> Interval:
    """The mean over tasks of a measure between 0 and 1, with its interval."""
    return mean_interval(by_task(outcomes, measure).values())


def mean(outcomes: Iterable[Outcome], measure: Measure) -> float:
    """The mean over tasks alone. There must be an outcome."""
    means = _task_means(outcomes, measure)
    return sum(means.values()) / len(means)


def _task_means(outcomes: Iterable[Outcome], measure: Measure) -> dict[str, float]:
    return {task: sum(values) / len(values) for task, values in by_task(outcomes, measure).items()}


def reply_tokens(outcomes: Sequence[Outcome]) -> float | None:
    """Tokens of a reply, on average over all replies: there is one in each turn."""
    replies = sum(each.turns for each in outcomes)
    return sum(each.reply_tokens for each in outcomes) / replies if replies else None


def side(low: float | None, high: float | None, level: float = 0.0) -> Verdict:
    """Where an interval lies; one without ends lies nowhere."""
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
        """Whether there are several seeds."""
        return len(self.seeds) > 1

    @property
    def verdict(self) -> Verdict:
        """What both intervals say, the one by task and the one by seed; of a single seed there is the first alone."""
        found = {side(self.points.low, self.points.high)}
        if self.by_seed:
            mean, reach = self.by_seed
            found.add(side(mean - reach, mean + reach))
        return found.pop() if len(found) == 1 else "not decided"

    @property
    def by_seed(self) -> tuple[float, float] | None:
        """The mean of the seeds, and how far its 95 % interval by Student's t reaches; None for a single seed.

        Here what training anew changes counts, and the tasks are given.
        """
        from scipy.stats import t

        n = len(self.seeds)
        if not self.repeated:
            return None
        return fmean(self.seeds), float(t.ppf(0.975, n - 1)) * stdev(self.seeds) / n**0.5


def difference(mine: BySeed, theirs: BySeed) -> Difference | None:
    """Mine less theirs; None if there is no task that both have with the same seed."""
    return contrast(((1.0, mine), (-1.0, theirs)))


def contrast(terms: Sequence[tuple[float, BySeed]]) -> Difference | None:
    """A sum of successes times weights, paired; None if there is no task that all have with the same seed.

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
    """The methods of the study, and those of which there is a row all the same."""
    names = {*results.study.get("methods", NAMED), *(row.method for row in results.rows)}
    return [method for method in METHODS if method.name in names]


def adjusted_p(found: Mapping[str, Difference]) -> dict[str, float]:
    """Return the p-values of differences by name, adjusted for their number by Holm's method."""
    return dict(zip(found, holm([each.p for each in found.values()]), strict=True))


def against(results: Results, other: str) -> dict[str, Difference]:
    """All methods against one of them, by name; those without numbers are left out."""
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
        """Whether the order was found again."""
        if self.ours is None:
            return "missing"
        found = self.ours.verdict
        if found == "not decided":
            return found
        return "as in the paper" if found == "above" else "reversed"


def orderings(results: Results) -> list[Ordering]:
    """Every two methods of the study of which the paper has numbers, the greatest difference first."""
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
    """Of a rate in per cent over the paper's tasks."""
    return rate * (100 - rate) / PAPER_TASKS
