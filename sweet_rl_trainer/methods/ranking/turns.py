"""Turns at which candidates are sampled, and the conversion of candidates to tokens.

A candidate is its own sequence: the prompt as the agent saw it, then the reply. If it had been the agent's reply,
training would use the same tokens with the same weights (see `data.tokens`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Opening
from sweet_rl_trainer.console import SizedIterable
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example
from sweet_rl_trainer.data.privileged import Template, preface_of
from sweet_rl_trainer.data.token_weights import Rule, weigh
from sweet_rl_trainer.data.tokens import OUTSIDE, DialogueEncoder, encode_prompt
from sweet_rl_trainer.data.trajectories import SampledTurn, Trajectory

T = TypeVar("T")


class Turn(Struct, frozen=True, kw_only=True):
    """An assistant turn of a trajectory."""

    trajectory: Trajectory
    number: int
    """Number of the turn, from 0."""

    @property
    def name(self) -> str:
        """The turn's name in messages: the trajectory's ID, and the turn's number from 1."""
        return f"{self.trajectory.id}, turn {self.number + 1}"


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A candidate reply."""

    text: str
    ids: tuple[int, ...] = ()
    """The candidate's sampled tokens, including the end token; empty if they were not recorded."""


class Candidates(Struct, frozen=True, kw_only=True):
    """Possible replies at a turn."""

    turn: Turn
    replies: tuple[Reply, ...]
    prompt: tuple[int, ...] = ()
    """The prompt from which the candidates were sampled; empty if it was not recorded."""


class Scores(Struct, frozen=True, kw_only=True):
    """The scores of a turn's candidates."""

    scores: tuple[float | None, ...]
    """Score of each reply; None for a reply without a score, for example because the reply is too long."""
    lengths: tuple[int, ...]
    """Number of tokens of each reply, including its end token."""
    solved: tuple[bool, ...] = ()
    """True for each reply that ended the dialogue with a success; empty if unknown."""

    def of(self, candidates: Candidates) -> Scored:
        """Return the candidates combined with these scores."""
        return Scored(candidates=candidates, **asdict(self))


class Scored(Scores, frozen=True, kw_only=True):
    """Candidates with their scores."""

    candidates: Candidates


def turns_of(
    trajectories: Sequence[Trajectory],
    *,
    data_fraction: float = 1.0,
    all_answers: bool = False,
    seed: int = 0,
) -> list[Turn]:
    """Return all turns of a share of the trajectories, in the order of the trajectories.

    The share is rounded up to a whole trajectory, and a larger share includes the trajectories of every smaller share.
    (The paper takes about a tenth, since turn-wise DPO overfits.) With `all_answers`, the result also has the last turn
    of each remaining trajectory that ended with an answer. Raises UserError if `data_fraction` is outside (0, 1].
    """
    if not 0 < data_fraction <= 1:
        raise UserError(f"data_fraction {data_fraction:g}: must be more than 0 and at most 1")
    order = sorted(
        range(len(trajectories)),
        key=lambda n: (derive_seed("fraction", seed, trajectories[n].id), n),
    )
    taken = frozenset(order[: ceil(data_fraction * len(trajectories))])
    return [
        Turn(trajectory=each, number=number)
        for n, each in enumerate(trajectories)
        for number in range(len(each.replies))
        if n in taken or (all_answers and _answers(each, number))
    ]


def _answers(trajectory: Trajectory, number: int) -> bool:
    return trajectory.ended_by == "answer" and number == len(trajectory.replies) - 1


def encode_candidates(
    candidates: Candidates,
    chat: Chat | DialogueEncoder,
    token_weights: Rule,
    *,
    privileged: Template | None = None,
) -> list[Example]:
    """Return a tokenized example for each reply; all examples have the same prompt.

    `privileged` is the template that adds the privileged information c to the prompt; a custom encoder adds c itself.
    Raises DataError, which names the turn, if recorded tokens come from another tokenizer, or if a reply cannot be
    encoded exactly. Raises UserError if c is to be added but is missing.
    """
    if not isinstance(chat, Chat):
        return _encoded(candidates, chat, token_weights)
    turn = candidates.turn
    prompt = _prompt(candidates, chat, privileged)
    examples = []
    for number, reply in enumerate(candidates.replies, 1):
        where = f"{turn.name}, candidate {number}"
        if reply.ids:
            chat.check(reply.ids, reply.text, where=where)
        ids = list(reply.ids) or chat.reply(reply.text, where=where)
        counted = weigh([OUTSIDE] * len(prompt) + [turn.number] * len(ids), token_weights)
        examples.append(Example(ids=array("i", [*prompt, *ids]), token_weights=array("f", counted)))
    return examples


def _encoded(
    candidates: Candidates, encoder: DialogueEncoder, token_weights: Rule
) -> list[Example]:
    turn = candidates.turn
    found = [
        encoder.encode_reply(turn.trajectory, turn.number, reply.text)
        for reply in candidates.replies
    ]
    return [
        Example(
            ids=array("i", each.ids),
            token_weights=array("f", weigh(each.turns, token_weights)),
            pictures=each.pictures,
        )
        for each in found
    ]


def reply_lengths(examples: Sequence[Example]) -> tuple[int, ...]:
    """Return the number of tokens of each reply (`encode_candidates`), including its end token."""
    return tuple(sum(weight != 0 for weight in each.token_weights) for each in examples)


def _prompt(candidates: Candidates, chat: Chat, privileged: Template | None) -> list[int]:
    trajectory, number = candidates.turn.trajectory, candidates.turn.number
    if candidates.prompt:
        seen = SampledTurn(prompt=array("i", candidates.prompt), ids=array("i"))
        trajectory = replace(trajectory, sampled=(None,) * number + (seen,))
    if privileged is None:
        return encode_prompt(trajectory, number, chat)
    stated = preface_of(trajectory, privileged)
    return encode_prompt(trajectory, number, chat, preface=stated.text, inside=stated.inside)


def by_wording(
    turns: SizedIterable[Candidates],
    tasks: Mapping[str, Task],
    play: Callable[[list[Opening]], Sequence[T]],
) -> Iterator[dict[str, T] | None]:
    """Yield a dict for each turn.

    The dict maps each candidate's text, without outer whitespace, to the candidate's result.

    `tasks` is keyed by task hash. If the turn's task is not in `tasks`, None is yielded instead. `play` is called once,
    with an opening for each distinct candidate of each turn: the dialogue up to and including the candidate. `play`
    returns a result for each opening, in the same order.
    """
    openings = [
        opening(each.turn, text, tasks)
        for each in turns
        if each.turn.trajectory.task_hash in tasks
        for text in _wordings(each)
    ]
    found = iter(play(openings))
    for each in turns:
        known = each.turn.trajectory.task_hash in tasks
        yield {text: next(found) for text in _wordings(each)} if known else None


def _wordings(candidates: Candidates) -> list[str]:
    """Return the different texts of the replies, without surrounding whitespace."""
    return list(dict.fromkeys(reply.text.strip() for reply in candidates.replies))


def opening(turn: Turn, reply: str, tasks: Mapping[str, Task]) -> Opening:
    """Return the dialogue up to a turn, with `reply` in place of the turn's reply."""
    trajectory, number = turn.trajectory, turn.number
    heard = [each.content for each in trajectory.messages if each.role == "user"]
    return Opening(
        task=tasks[trajectory.task_hash],
        heard=tuple(heard[: number + 1]),
        replies=(*trajectory.replies[:number], reply),
    )
