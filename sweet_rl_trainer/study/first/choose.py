"""Which learning rate and which checkpoint: by the validation tasks, the same rule for every method.

The highest success wins; of equal ones the most tests passed, then the least training.
"""

from __future__ import annotations

from collections.abc import Sequence

from sweet_rl_trainer.study.first.results import Step, Try


def quality(step: Step) -> tuple[float, float]:
    """Return the share of dialogues that ended in success, and the mean share of passed tests."""
    count = len(step.outcomes)
    return (
        sum(each.success for each in step.outcomes) / count,
        sum(each.value for each in step.outcomes) / count,
    )


def best_step(tried: Try) -> Step:
    """Return the best checkpoint, the earliest of equal ones; the base is among them."""
    return max(tried.curve, key=lambda each: (quality(each), -each.step))


def best_try(tries: Sequence[Try]) -> Try:
    """Return the learning rate with the best checkpoint, the lowest of equal ones."""
    return max(tries, key=lambda each: (quality(best_step(each)), -each.rate))
