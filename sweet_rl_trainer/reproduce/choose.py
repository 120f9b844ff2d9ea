"""Which learning rate and which checkpoint: by success on the validation tasks, the same rule for every method."""

from __future__ import annotations

from collections.abc import Sequence

from sweet_rl_trainer.reproduce.results import Step, Try


def success(step: Step) -> float:
    """The share of the dialogues that ended in success."""
    return sum(each.success for each in step.outcomes) / len(step.outcomes)


def best_step(tried: Try) -> Step:
    """The checkpoint with the highest success, of equal ones the earliest; the base is among them."""
    return max(tried.curve, key=lambda each: (success(each), -each.step))


def best_try(tries: Sequence[Try]) -> Try:
    """The learning rate whose best checkpoint has the highest success, of equal ones the lowest rate."""
    return max(tries, key=lambda each: (success(best_step(each)), -each.rate))
