"""From a dialogue to what GRPO trains on: one sequence of tokens, and which of them the agent said."""

from __future__ import annotations

from msgspec import Struct

from colbench.errors import DataError, EndpointError
from colbench.rollout import Rollout


class Sequence(Struct, frozen=True, kw_only=True):
    """A dialogue in tokens: the first prompt, and everything after it."""

    prompt: list[int]
    completion: list[int]
    mask: list[int]
    """Of the completion: 1 where the agent said it, 0 for the human's words and the template's marks."""
    logprobs: list[float]
    """Of the completion as it was sampled, 0 where `mask` is; empty where they are not known."""
    turns: list[int]
    """Of the completion: the number of each token's turn, from 0; what is said before a reply counts to its turn."""


def sequence(rollout: Rollout) -> Sequence:
    """A dialogue whose turns have their tokens, each prompt continuing the one before and the reply to it.

    Raises DataError, or EndpointError where a server was to blame, if nothing was said; DataError naming the turn that
    does not continue what was before it.
    """
    turns = [turn.sampled for turn in rollout.turns if turn.sampled]
    if not turns:
        reason = rollout.failure.reason if rollout.failure else "it has no tokens"
        lost = rollout.failure is not None and rollout.failure.boundary == "endpoint"
        kind = EndpointError if lost else DataError
        raise kind(f"{rollout.task_id}: nothing of its dialogue can be trained: {reason}")
    ids = list(turns[0].prompt)
    mask: list[int] = []
    logprobs: list[float] = []
    numbers: list[int] = []
    for number, turn in enumerate(turns, start=1):
        if list(turn.prompt[: len(ids)]) != ids:
            raise DataError(
                f"{rollout.task_id}, turn {number}: its prompt does not continue the turns before it, so the dialogue "
                "is not one sequence"
            )
        between = len(turn.prompt) - len(ids)
        ids = [*turn.prompt, *turn.ids]
        mask += [0] * between + [1] * len(turn.ids)
        logprobs += [0.0] * between + list(turn.logprobs)
        numbers += [number - 1] * (between + len(turn.ids))
    start = len(turns[0].prompt)
    known = all(len(turn.logprobs) == len(turn.ids) for turn in turns)
    return Sequence(
        prompt=ids[:start],
        completion=ids[start:],
        mask=mask,
        logprobs=logprobs if known else [],
        turns=numbers,
    )
