"""Agreement between two orders of a state's candidates: by an estimator's scores, and by exact values.

Candidates of different states are never compared, and candidates without a score are left out. A measure is averaged
first over the states of a task, without states for which it is undefined, and then over tasks. Its 95% interval is a
bootstrap over tasks or, if all tasks have the same value, an exact interval (`colbench.stats`). A pair with equal
scores counts as half right. Shares of pairs in the right order leave out pairs with equal exact values.

| measure | value for one state |
|---|---|
| `spearman`, `kendall` | rank correlation of scores and exact values over all candidates; 0 if all scores are equal |
| `auc` | the share of pairs of a relevant and a useless question (`states`) in which the relevant one scores higher |
| `questions` | the share of pairs in the right order, among pairs of two questions |
| `mixed` | the share of pairs in the right order, among pairs of a question and an answer |
| `answers` | the share of pairs in the right order, among pairs of two answers |
| `pairs` | the share of pairs in the right order, among all pairs |
| `regret` | the value that is lost by taking the candidate with the highest score, as a share of tests |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.creditbench.states import QUESTIONS, USELESS, Bench, BenchState
from sweet_rl_trainer.methods.critic.correlation import correlation

MEASURES = ("spearman", "kendall", "auc", "questions", "mixed", "answers", "pairs", "regret")
BOUNDS = {"spearman": (-1.0, 1.0), "kendall": (-1.0, 1.0)}
"""The least and greatest possible values of a measure; 0 and 1 for measures not listed."""


class Scored(Struct, frozen=True, kw_only=True):
    """A task with its states, and the scores of each state's candidates; None for a candidate without a score."""

    bench: Bench
    scores: tuple[tuple[float | None, ...], ...]


class Agreement(Struct, frozen=True, kw_only=True):
    """The measures of an estimator, by name. A measure that is undefined for every state is left out."""

    measures: dict[str, Interval]
    states: int
    tasks: int


def agreement(
    scored: Iterable[Scored], truth: str, measures: Sequence[str] = MEASURES
) -> Agreement:
    """Return how well scores agree with exact values: one result for each of `measures`.

    `truth`: the kind of exact values, see `truths`.
    """
    by_task: dict[str, list[list[float]]] = {name: [] for name in measures}
    states = tasks = 0
    for each in scored:
        found: dict[str, list[float]] = {name: [] for name in measures}
        for number, scores in enumerate(each.scores):
            exact = each.bench.truths[number].candidates[truth]
            taken = _measures(each.bench.states[number], scores, exact)
            for name in found.keys() & taken.keys():
                found[name].append(taken[name]())
        states += len(each.scores)
        tasks += bool(each.scores)
        for name, values in found.items():
            by_task[name].append(values)
    return Agreement(
        measures={
            name: mean_interval(clusters, BOUNDS.get(name, (0.0, 1.0)))
            for name, clusters in by_task.items()
            if any(clusters)
        },
        states=states,
        tasks=tasks,
    )


def _measures(
    state: BenchState, scores: Sequence[float | None], exact: Sequence[float]
) -> Mapping[str, Callable[[], float]]:
    """Return, for each measure that is defined for a state, a function that computes it."""
    known = [
        _Candidate(each.kind, score, value)
        for each, score, value in zip(state.candidates, scores, exact, strict=True)
        if score is not None
    ]
    if not known:
        return {}
    pairs = [_Pair(*both) for both in combinations(known, 2)]
    found: dict[str, Callable[[], float]] = {"regret": partial(_regret, known)}
    if any(pair.worth for pair in pairs):
        found["spearman"] = partial(_spearman, known)
        found["kendall"] = partial(_kendall, pairs)
    for name, right in (
        ("questions", [pair.right for pair in pairs if pair.worth and pair.questions == 2]),
        ("mixed", [pair.right for pair in pairs if pair.worth and pair.questions == 1]),
        ("answers", [pair.right for pair in pairs if pair.worth and pair.questions == 0]),
        ("pairs", [pair.right for pair in pairs if pair.worth]),
        ("auc", [(1 + pair.useful * pair.order) / 2 for pair in pairs if pair.useful]),
    ):
        if right:
            found[name] = partial(fmean, right)
    return found


class _Candidate(NamedTuple):
    kind: str
    score: float
    value: float


class _Pair:
    """Two candidates of a state.

    `order` compares the candidates' scores, and `worth` compares their values. Both are 1 if the first candidate is
    higher, -1 if it is lower, and 0 if both candidates are equal.
    """

    def __init__(self, one: _Candidate, other: _Candidate) -> None:
        self.questions = (one.kind in QUESTIONS) + (other.kind in QUESTIONS)
        self.order = _sign(one.score, other.score)
        self.worth = _sign(one.value, other.value)
        self.right = (1 + self.order * self.worth) / 2
        self.useful = (one.kind == "relevant" and other.kind in USELESS) - (
            other.kind == "relevant" and one.kind in USELESS
        )
        """1 if the first reveals an open decision and the second is useless, -1 if the reverse; otherwise 0."""


def _sign(one: float, other: float) -> int:
    return (one > other) - (one < other)


def _kendall(pairs: Sequence[_Pair]) -> float:
    """Return Kendall's τ_b; 0 if all scores or all values are equal."""
    agreed = sum(pair.order * pair.worth for pair in pairs)
    ordered = sum(pair.order != 0 for pair in pairs)
    different = sum(pair.worth != 0 for pair in pairs)
    return float(agreed / sqrt(ordered * different)) if ordered and different else 0.0


def _spearman(candidates: Sequence[_Candidate]) -> float:
    ranks = correlation([each.score for each in candidates], [each.value for each in candidates])
    return ranks.spearman or 0.0


def _regret(candidates: Sequence[_Candidate]) -> float:
    """Return the best candidate's value minus the mean value of the candidates with the highest score."""
    highest = max(each.score for each in candidates)
    chosen = fmean(each.value for each in candidates if each.score == highest)
    return max(each.value for each in candidates) - chosen
