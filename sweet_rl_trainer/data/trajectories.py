"""Trajectories: recorded dialogues with their rewards.

They come from run folders of the harness (`runs`), from the official files, and from the user's own files (`own`).

A trajectory keeps the agent's messages both as they were sampled (`messages`) and as the agent saw them in its later
prompts (`said`): the harness and the released data do not send the private part of a reply back to the agent.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER, Message, split_reply
from colbench_tasks.trajectories import Trajectory as Recorded

EndedBy = Literal["answer", "limit", "unknown"]
"""The end of a dialogue: with an answer, at the turn limit without an answer, or unknown."""
OFFICIAL_LIMIT = 10
"""Turn limit of the dialogues in the official files (paper, section 5)."""


class SampledTurn(Struct, frozen=True, kw_only=True):
    """The recorded tokens of a turn, in arrays, which need a tenth of the memory of tuples."""

    prompt: array[int]
    """IDs of the model's whole input, int32."""
    ids: array[int]
    """IDs of the tokens that the agent wrote, including the end token if the reply was not truncated, int32."""


class Trajectory(Struct, frozen=True, kw_only=True):
    """One dialogue with its task and its reward."""

    id: str
    """The dialogue's origin: task and trial of a run, or the number of the line or row in a file.

    The ID does not depend on the path of a run or file, because order, random draws and the files of stages depend on
    the ID. A rollout's key cannot be used, because it depends on the run's configuration, such as the path of a model.
    """
    task_id: str
    task_hash: str
    domain: str
    privileged: str
    """The information c, hidden from the agent: the task's reference, or `privileged` in the user's own files."""
    messages: tuple[Message, ...]
    """The system message, if there was one, then user and assistant messages alternately; the last is the assistant's.

    Assistant messages are as they were sampled.
    """
    said: tuple[str, ...]
    """The agent's messages as the agent's later prompts repeat them.

    They have no private parts, except in the user's own files, whose messages are repeated unchanged.
    """
    reward: float
    """The domain's primary metric, such as the share of hidden tests passed, or the reward in the file."""
    ended_by: EndedBy
    prompts: tuple[str, ...] = ()
    """The recorded prompt string of each turn; empty if prompts were not recorded."""
    sampled: tuple[SampledTurn | None, ...] = ()
    """The recorded tokens of each turn; None for a turn without recorded tokens, empty if no turn has such tokens."""

    @property
    def replies(self) -> tuple[str, ...]:
        """The agent's replies, turn by turn, as they were sampled."""
        return tuple(each.content for each in self.messages if each.role == "assistant")

    def context(self, turn: int) -> tuple[Message, ...]:
        """Return the messages that the agent saw before a turn (from 0); the last one is the human's."""
        first = next(n for n, each in enumerate(self.messages) if each.role == "assistant")
        before = self.messages[: first + 2 * turn]
        said = iter(self.said)
        return tuple(
            replace(each, content=next(said), sampled=None) if each.role == "assistant" else each
            for each in before
        )


def from_official(
    recorded: Iterable[Recorded], *, system: str = "", dropped: Counter[str] | None = None
) -> Iterator[Trajectory]:
    """Yield the trajectories of official files, as `colbench_tasks.trajectories` reads them.

    `system` becomes the system message of each trajectory, because the files contain it only within prompt strings. A
    dialogue without a reward is left out and counted in `dropped`. `ended_by` is `answer` if the public part of
    the last reply contains the answer marker, else `limit` after ten turns, else `unknown`.
    """
    for number, each in enumerate(recorded, 1):
        if each.reward is None:
            if dropped is not None:
                dropped["no reward"] += 1
            continue
        prompts = tuple(turn.prompt for turn in each.turns)
        heard = [each.task.request, *(turn.human or "" for turn in each.turns[:-1])]
        yield Trajectory(
            id=f"row {number}",
            task_id=each.task.id,
            task_hash=each.task.hash,
            domain=each.task.domain,
            privileged=each.task.hidden.reference,
            messages=messages_of(system, heard, [turn.raw for turn in each.turns]),
            said=tuple(turn.said for turn in each.turns),
            reward=each.reward,
            ended_by=_ended_by([turn.raw for turn in each.turns]),
            prompts=prompts if all(prompts) else (),
        )


def _ended_by(replies: Sequence[str]) -> EndedBy:
    if ANSWER_MARKER in split_reply(replies[-1])[2]:
        return "answer"
    return "limit" if len(replies) == OFFICIAL_LIMIT else "unknown"


def messages_of(system: str, heard: Sequence[str], said: Sequence[str]) -> tuple[Message, ...]:
    """Return a dialogue's messages: the system prompt, if any, then `heard` (user) and `said` (agent) alternately."""
    first = [Message(role="system", content=system)] if system else []
    turns = [
        message
        for human, agent in zip(heard, said, strict=True)
        for message in (
            Message(role="user", content=human),
            Message(role="assistant", content=agent),
        )
    ]
    return (*first, *turns)
