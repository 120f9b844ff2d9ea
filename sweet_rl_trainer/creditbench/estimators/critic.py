"""Estimators that use a critic trained on preferences between dialogues (SWEET-RL, arXiv 2503.15478).

A *reading* turns a critic's log-ratios into a score. ρ_i is the log-ratio of token i, log π_θ − log π_ref, where both
models are told c, the task's reference; L is the number of tokens of the candidate.

| reading | score of a candidate |
|---|---|
| (none) | Σ ρ_i / L: the paper's advantage A, for critics that score dialogues by the sum or mean of turn means |
| `sum` | Σ ρ_i |
| `one mean over tokens` | Σ ρ_i over all replies so far and the candidate, divided by the number of their tokens |
| `without c` | Σ ρ_i / L, where neither model is told c |

A mean over the T turns, (earlier means + Σ ρ_i / L) / T, is not listed, because within a state it gives the same order
as the first reading. A critic with a value head has one reading, Σ v_i / L, where v_i is the value of token i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Scores
from sweet_rl_trainer.creditbench.estimators.readers import (
    Reader,
    earlier_replies,
    lengths,
    replies,
)
from sweet_rl_trainer.creditbench.states import Bench


def mean(bench: Bench, critic: Reader, reference: Reader, *, told: bool = True) -> list[Scores]:
    """Return, for each candidate, the mean log-ratio of its tokens; if `told`, both models read c, the reference."""
    examples = replies(bench, reference, told=told)
    return [
        tuple(one - other for one, other in zip(*both, strict=True))
        for both in zip(critic.sums(examples), reference.sums(examples), strict=True)
    ]


def total(bench: Bench, critic: Reader, reference: Reader) -> list[Scores]:
    """Return, for each candidate, the sum of the log-ratios of its tokens."""
    tokens = lengths(replies(bench, reference, told=True))
    means = mean(bench, critic, reference)
    return [
        tuple((score or 0.0) * length for score, length in zip(*both, strict=True))
        for both in zip(means, tokens, strict=True)
    ]


def one_mean(bench: Bench, critic: Reader, reference: Reader) -> list[Scores]:
    """Return each candidate's mean log-ratio over the tokens of the candidate and of all earlier replies."""
    tokens = lengths(replies(bench, reference, told=True))
    sums = total(bench, critic, reference)
    found = list[Scores]()
    for state, scores, counts in zip(bench.states, sums, tokens, strict=True):
        said = earlier_replies(bench.task, state, reference)
        ratio, length = 0.0, 0
        if said:
            ((theirs,),), ((ours,),) = critic.sums([[said]]), reference.sums([[said]])
            ratio, length = theirs - ours, sum(weight != 0 for weight in said.token_weights)
        found.append(
            tuple(
                (ratio + (score or 0.0)) / (length + count)
                for score, count in zip(scores, counts, strict=True)
            )
        )
    return found


def values(bench: Bench, critic: Reader) -> list[Scores]:
    """Return, for each candidate, the mean value of its tokens."""
    return [tuple(each) for each in critic.sums(replies(bench, critic, told=True))]


READINGS: dict[str, tuple[str, Callable[..., list[Scores]]]] = {
    "": ("`Σ ρ / L`, told `c`", mean),
    "sum": ("`Σ ρ`, told `c`", total),
    "one mean over tokens": (
        "mean of `ρ` over the tokens of the agent's earlier messages and the candidate, told `c`",
        one_mean,
    ),
    "without c": ("`Σ ρ / L`, not told `c`", partial(mean, told=False)),
}


def estimators(name: str, critic: Reader, reference: Reader) -> Iterator[Estimator]:
    """Yield the estimators that use a critic. A critic with a value head is used without the reference model."""
    key = f"{critic.key} {reference.key}"
    if critic.score == "value":
        yield Estimator(
            name=name,
            about="`Σ v / L`, told `c`",
            key=key,
            costly=True,
            score=partial(values, critic=critic),
        )
        return
    for reading, (about, score) in READINGS.items():
        yield Estimator(
            name=f"{name}, {reading}" if reading else name,
            about=about,
            key=key,
            costly=True,
            score=partial(score, critic=critic, reference=reference),
        )
