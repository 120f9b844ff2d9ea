"""The row that TRL's trainer gets for a dialogue: its sequences one after another, and a mask of the agent's tokens.

A dialogue is one sequence if every prompt begins with the previous prompt and reply. Otherwise, for example if the chat
template strips earlier thoughts, each turn is its own sequence (`data.tokens.arrange`), as in the other training
methods.
"""

from __future__ import annotations

from itertools import chain

from msgspec import Struct

from colbench.errors import DataError, EndpointError
from colbench.rollout import Rollout
from sweet_rl_trainer.data.tokens import OUTSIDE, Tokens, TurnTokens, arrange

Part = tuple[int, int]
"""The lengths of a sequence's two parts: the tokens before its first reply, and the rest."""


class DialogueRow(Struct, frozen=True, kw_only=True):
    """A dialogue in tokens. `completion` is everything after the first prompt, including later prompts."""

    prompt: list[int]
    completion: list[int]
    mask: list[int]
    """Mask of the completion: 1 for tokens that the agent wrote, 0 for others."""
    logprobs: list[float]
    """Log-probabilities of the completion when it was sampled, 0 where `mask` is 0; empty if unknown."""
    turns: list[int]
    """Number (from 0) of the turn in which the agent wrote each token of the completion; 0 for other tokens."""
    parts: list[Part]
    """The lengths of the two parts of each sequence."""


def dialogue_row(rollout: Rollout) -> DialogueRow:
    """Return the row of a dialogue, made from the recorded tokens of its turns.

    If no turn has tokens, raises EndpointError if a model server failed, else DataError.
    """
    turns = [turn.sampled for turn in rollout.turns if turn.sampled]
    if not turns:
        reason = rollout.failure.reason if rollout.failure else "it has no tokens"
        lost = rollout.failure is not None and rollout.failure.boundary == "endpoint"
        kind = EndpointError if lost else DataError
        raise kind(f"{rollout.task_id}: its dialogue cannot be trained on: {reason}")
    _, sequences = arrange(
        [TurnTokens(prompt=list(turn.prompt), reply=list(turn.ids)) for turn in turns]
    )
    ids = [token for each in sequences for token in each.ids]
    start = len(turns[0].prompt)
    numbers = [turn for each in sequences for turn in each.turns][start:]
    mask = [int(number != OUTSIDE) for number in numbers]
    known = all(len(turn.logprobs) == len(turn.ids) for turn in turns)
    logprobs = chain.from_iterable(turn.logprobs for turn in turns)
    return DialogueRow(
        prompt=ids[:start],
        completion=ids[start:],
        mask=mask,
        logprobs=[next(logprobs) if wrote else 0.0 for wrote in mask] if known else [],
        turns=[max(number, 0) for number in numbers],
        parts=list(map(_part, sequences)),
    )


def _part(sequence: Tokens) -> Part:
    start = next(place for place, turn in enumerate(sequence.turns) if turn != OUTSIDE)
    return start, len(sequence.ids) - start
