"""How an estimator orders the candidates of states, compared with their exact values.

Candidates of different states are never compared. Each task counts the same, and within it each state; intervals are
95 % bootstraps over tasks. Pairs of candidates with equal exact values are left out; equal scores are half right.

| measure | of a state |
|---|---|
| `spearman`, `kendall` | rank correlation of scores and exact values over all candidates; 0 if all scores are equal |
| `auc` | the chance that a relevant question scores above a useless one |
| `questions` | the share of pairs of two questions that are in the right order |
| `mixed` | … of pairs of a question and an answer |
| `answers` | … of pairs of two answers |
| `pairs` | … of all pairs |
| `regret` | the value that is lost by taking the candidate with the highest score, in shares of tests |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from msgspec import Struct

from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.creditbench.states import QUESTIONS, USELESS, Bench, BenchState
from sweet_rl_trainer.methods.critic.correlation import correlation
from sweet_rl_trainer.methods.critic.montecarlo import agree

MEASURES = ("spearman", "kendall", "auc", "questions", "mixed", "answers", "pairs", "regret")
BOUNDS = {"spearman": (-1.0, 1.0), "kendall": (-1.0, 1.0)}
"""The least and the greatest value that is possible; else 0 and 1."""


class Scored(Struct, frozen=True, kw_only=True):
    """A task's states with the scores of their candidates; states without any score are left out."""

    bench: Bench
    scores: tuple[tuple[float | None, ...], ...]


class Agreement(Struct, frozen=True, kw_only=True):
    """The measures of an estimator, by name; a measure that no state has is missing."""

    measures: dict[str, Interval]
    states: int
    tasks: int


def agreement(scored: Iterable[Scored], truth: str) -> Agreement:
    """Return how scores agree with a truth (`truths`)."""
    by_task: dict[str, list[list[float]]] = {name: [] for name in MEASURES}
    states = tasks = 0
    for each in scored:
        found: dict[str, list[float]] = {name: [] for name in MEASURES}
        for number, scores in enumerate(each.scores):
            exact = each.bench.truths[number].candidates[truth]
            for name, value in _measures(each.bench.states[number], scores, exact).items():
                found[name].append(value)
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
) -> Mapping[str, float]:
    known = [
        (each.kind, score, value)
        for each, score, value in zip(state.candidates, scores, exact, strict=True)
        if score is not None
    ]
    if not known:
        return {}
    kinds, given, values = zip(*known, strict=True)
    found = {"regret": max(values) - fmean(_best(given, values))}
    if len(set(values)) > 1:
        found["spearman"] = correlation(given, values).spearman or 0.0
        found["kendall"] = kendall(given, values)
    pairs = list(_pairs(kinds, given, values))
    for name, kept in (
        ("questions", [right for both, right in pairs if both == (True, True)]),
        ("mixed", [right for both, right in pairs if both in ((True, False), (False, True))]),
        ("answers", [right for both, right in pairs if both == (False, False)]),
        ("pairs", [right for _, right in pairs]),
        ("auc", list(_useful(kinds, given))),
    ):
        if kept:
            found[name] = fmean(kept)
    return found


def kendall(scores: Sequence[float], values: Sequence[float]) -> float:
    """Return Kendall's τ_b; 0 where all scores or all values are equal."""
    pairs = list(combinations(zip(scores, values, strict=True), 2))
    signs = [
        (np.sign(one - other), np.sign(value - worse)) for (one, value), (other, worse) in pairs
    ]
    tied = (sum(bool(score) for score, _ in signs) * sum(bool(value) for _, value in signs)) ** 0.5
    return float(sum(score * value for score, value in signs) / tied) if tied else 0.0


def _pairs(
    kinds: Sequence[str], scores: Sequence[float], values: Sequence[float]
) -> Iterator[tuple[tuple[bool, bool], float]]:
    """Yield, for every two candidates with different values, which of them ask, and if their order is right."""
    candidates = list(zip(kinds, scores, values, strict=True))
    for (kind, score, value), (other, second, worse) in combinations(candidates, 2):
        right = agree((score, second), (value, worse))
        if right is not None:
            yield (kind in QUESTIONS, other in QUESTIONS), right


def _useful(kinds: Sequence[str], scores: Sequence[float]) -> Iterator[float]:
    """Yield, for each relevant and each useless question, 1 if the relevant one scores higher, 0.5 for equal scores."""
    candidates = list(zip(kinds, scores, strict=True))
    for kind, score in candidates:
        for other, second in candidates:
            if kind == "relevant" and other in USELESS:
                yield 0.5 if score == second else float(score > second)


def _best(scores: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return the values of the candidates with the highest score."""
    highest = max(scores)
    return [value for score, value in zip(scores, values, strict=True) if score == highest]
