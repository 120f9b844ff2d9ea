"""Conversion of a trajectory to token IDs, with the number of the assistant turn that each token belongs to.

Every turn is a prompt and a completion. The prompt is the sampler's input: the recorded IDs, else the recorded string,
else the chat template applied to the messages before the turn, with the generation prompt. The completion is the
sampler's output: the recorded IDs, else the original reply, tokenized on its own, and the end-of-turn token. So
templates are used only as in sampling: no rendered dialogue is searched for the boundaries of turns. A template may
therefore strip thoughts, move the system message or state the date.

The turns of a dialogue form one sequence if every prompt begins, token by token, with the previous prompt and its
reply. This fails, for example, if private parts or thoughts are not sent back, a reply is trimmed, or
retokenizing a text gives different tokens. Then each turn is its own sequence, so that no token is trained on a context
that the agent did not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.trajectories import Trajectory

Source = Literal["sampled", "recorded", "rendered"]
"""The source of a prompt: recorded token IDs, a recorded string, or messages rendered with the chat template."""
Form = Literal["one sequence", "a sequence for each turn"]
"""The form of a dialogue in tokens."""

OUTSIDE = -1
"""The turn number of tokens that the agent did not write."""


class Tokens(Struct, frozen=True, kw_only=True):
    """A sequence; `turns[i]` is the assistant turn (from 0) of token i. A turn includes its end-of-turn token."""

    ids: list[int]
    turns: list[int]
    pictures: tuple[str, ...] = ()
    """Names of the pictures among the tokens, in order; empty except for a vision critic (`vision`)."""


class Encoded(Struct, frozen=True, kw_only=True):
    """A trajectory in tokens: one sequence, or one for each turn."""

    sequences: tuple[Tokens, ...]
    form: Form
    sources: tuple[Source, ...]
    """The source of each turn's prompt."""


class DialogueEncoder(Protocol):
    """An encoder of dialogues that replaces `encode`, such as `vision.VisionChat`."""

    def encode_trajectory(self, trajectory: Trajectory) -> Encoded:
        """Return a trajectory in tokens."""

    def encode_reply(self, trajectory: Trajectory, turn: int, reply: str) -> Tokens:
        """Return the tokens of the messages before `turn` (from 0) and of `reply`; only `reply` is marked as a turn."""


class TurnTokens(Struct, frozen=True, kw_only=True):
    """A turn in tokens: the agent's prompt, and the agent's reply."""

    prompt: list[int]
    reply: list[int]
    source: Source = "sampled"


def encode(
    trajectory: Trajectory,
    chat: Chat,
    *,
    preface: str = "",
    inside: bool = True,
) -> Encoded:
    """Encode a trajectory in tokens, with `preface` inserted into its prompts.

    With `inside`, the preface begins the content of the first message. Without `inside`, or in a recorded prompt that
    does not begin with the template's header, the preface precedes the first message, after BOS if the prompt has one.

    Raises DataError, which names the trajectory and the turn, if the chat template rejects messages or leaves some out,
    if a reply cannot be encoded exactly, or if recorded tokens come from another tokenizer.
    """
    turns = [_turn(trajectory, number, chat) for number in range(len(trajectory.replies))]
    if preface:
        header, words = _preface(trajectory, chat, preface, inside)
        turns = [
            replace(turn, prompt=_prefaced(turn.prompt, header, words, chat.bos)) for turn in turns
        ]
    form, sequences = arrange(turns)
    return Encoded(sequences=sequences, form=form, sources=tuple(turn.source for turn in turns))


def encode_prompt(
    trajectory: Trajectory, turn: int, chat: Chat, *, preface: str = "", inside: bool = True
) -> list[int]:
    """Return the IDs of the agent's prompt for a turn (from 0), encoded as in `encode`, without a reply."""
    prompt, _ = _prompt(trajectory, turn, chat)
    if not preface:
        return prompt
    return _prefaced(prompt, *_preface(trajectory, chat, preface, inside), chat.bos)


def _turn(trajectory: Trajectory, number: int, chat: Chat) -> TurnTokens:
    where = f"{trajectory.id}, turn {number + 1}"
    prompt, source = _prompt(trajectory, number, chat)
    reply = trajectory.replies[number]
    if trajectory.sampled and (sampled := trajectory.sampled[number]):
        ids = list(sampled.ids)
        chat.check(ids, reply, where=where)
    else:
        ids = chat.reply(reply, where=where)
    return TurnTokens(prompt=prompt, reply=ids, source=source)


def _prompt(trajectory: Trajectory, number: int, chat: Chat) -> tuple[list[int], Source]:
    if trajectory.sampled and (sampled := trajectory.sampled[number]):
        return list(sampled.prompt), "sampled"
    if trajectory.prompts:
        return chat.encode_prompt(trajectory.prompts[number]), "recorded"
    where = f"{trajectory.id}, turn {number + 1}"
    return chat.prompt(trajectory.context(number), where=where), "rendered"


def _preface(
    trajectory: Trajectory, chat: Chat, preface: str, inside: bool
) -> tuple[list[int], list[int]]:
    """Return the IDs of the prompt's header, after which the preface is inserted, and the preface's IDs.

    Without `inside`, the header is empty.
    """
    where = f"{trajectory.id}, turn 1"
    header = chat.header(trajectory.context(0), where=where) if inside else []
    return header, chat.encode(preface + "\n\n")


def _prefaced(prompt: list[int], header: list[int], words: list[int], bos: list[int]) -> list[int]:
    """Return the prompt with words inserted after its header, else after BOS, else at its start."""
    starts = (start for start in (header, bos) if start and prompt[: len(start)] == start)
    start = next(starts, [])
    return [*start, *words, *prompt[len(start) :]]


def arrange(turns: Sequence[TurnTokens]) -> tuple[Form, tuple[Tokens, ...]]:
    """Return the form and the sequences of a dialogue.

    A dialogue is one sequence if every prompt begins with the previous prompt and the reply to it. Otherwise, each turn
    is a sequence.
    """
    if all(_continues(one, other) for one, other in pairwise(turns)):
        return "one sequence", (_joined(turns),)
    alone = (_tokens([(turn.prompt, OUTSIDE), (turn.reply, n)]) for n, turn in enumerate(turns))
    return "a sequence for each turn", tuple(alone)


def _continues(turn: TurnTokens, following: TurnTokens) -> bool:
    """Return True if the prompt of `following` begins, token by token, with the prompt and the reply of `turn`."""
    start = len(turn.prompt)
    end = start + len(turn.reply)
    prompt = following.prompt
    return prompt[:start] == turn.prompt and prompt[start:end] == turn.reply


def _joined(turns: Sequence[TurnTokens]) -> Tokens:
    pieces: list[tuple[list[int], int]] = []
    done = 0
    for number, turn in enumerate(turns):
        pieces += [(turn.prompt[done:], OUTSIDE), (turn.reply, number)]
        done = len(turn.prompt) + len(turn.reply)
    return _tokens(pieces)


def _tokens(pieces: Sequence[tuple[list[int], int]]) -> Tokens:
    return Tokens(
        ids=[token for ids, _ in pieces for token in ids],
        turns=[turn for ids, turn in pieces for _ in ids],
    )
