"""The choice of the learning rate: one rule for all arms.

The rate with the highest success on the validation tasks, over all seeds, is chosen. Among rates with equal success,
the rate with the highest share of passed tests is chosen; if these shares are equal too, the lowest rate is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sweet_rl_trainer.study.results import Outcome, Try


def quality(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Return the share of dialogues that ended in success, and the mean share of passed tests."""
    count = len(outcomes)
    return (
        sum(each.success for each in outcomes) / count,
        sum(each.value for each in outcomes) / count,
    )


def by_rate(tries: Iterable[Try]) -> dict[float, tuple[Outcome, ...]]:
    """Return the validation outcomes of all seeds, grouped by learning rate, the lowest rate first."""
    found: dict[float, tuple[Outcome, ...]] = {}
    for each in sorted(tries, key=lambda each: (each.rate, each.seed)):
        found[each.rate] = found.get(each.rate, ()) + each.validation
    return found


def best_rate(outcomes: Mapping[float, Sequence[Outcome]]) -> float:
    """Return the rate whose outcomes have the best `quality`; the lowest rate wins a tie."""
    return max(outcomes, key=lambda rate: (*quality(outcomes[rate]), -rate))
