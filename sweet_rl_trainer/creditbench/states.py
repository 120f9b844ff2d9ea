"""States of dialogues, each with candidates for the agent's next message; a line of JSON stores a task's states."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench.messages import Message
from colbench.task import Task
from sweet_rl_trainer.data.trajectories import messages_of

Kind = Literal["relevant", "redundant", "unanswerable", "answer", "wrong answer"]
"""The kind of a candidate.

A question is `relevant` if the human's reply reveals a decision that was not known before. Any other question is
`redundant` if it asks about a decision (which is then already known), and `unanswerable` if it asks about no decision.
An `answer` is the best answer that the known decisions allow. A `wrong answer` is that answer with another choice for
one known decision. Answers get no reply.
"""
QUESTIONS = frozenset[Kind]({"relevant", "redundant", "unanswerable"})
USELESS = frozenset[Kind]({"redundant", "unanswerable"})


class Candidate(Struct, frozen=True, kw_only=True):
    """A candidate for the agent's next message."""

    kind: Kind
    text: str
    reply: str = ""
    """The human's reply to a question; empty for answers."""
    told: tuple[str, ...] = ()
    """The decisions that the reply reveals and that were not known before."""
    reward: float | None = None
    """The share of the task's tests that an answer passes; None for questions."""
    slip: tuple[str, int] | None = None
    """The decision that a wrong answer gets wrong, and the wrong choice's index in the decision's list of choices."""


class BenchState(Struct, frozen=True, kw_only=True):
    """A dialogue before one of the agent's turns."""

    id: str
    heard: tuple[str, ...]
    """The human's messages, the request first."""
    said: tuple[str, ...]
    """The agent's messages: one fewer than the human's."""
    told: tuple[str, ...]
    """The decisions that the human has revealed in replies, not including decisions in the request."""
    turns_left: int
    """Number of turns left, including this one. A question in the last turn ends the dialogue without an answer."""
    candidates: tuple[Candidate, ...]

    def after(self, candidate: Candidate) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the human's messages, and the agent's messages, after the question `candidate` and the reply."""
        return (*self.heard, candidate.reply), (*self.said, candidate.text)


class TaskStates(Struct, frozen=True, kw_only=True):
    """A line of `states.jsonl`: the states of a task."""

    task_id: str
    task_hash: str
    states: tuple[BenchState, ...]


class StateTruth(Struct, frozen=True, kw_only=True):
    """The exact values of a state and of its candidates, keyed by the name of the truth (`truths`)."""

    value: dict[str, float]
    candidates: dict[str, tuple[float, ...]]


class TaskTruths(Struct, frozen=True, kw_only=True):
    """A line of `truths.jsonl`: the exact values for each of a task's states, in the order of the states."""

    task_id: str
    states: tuple[StateTruth, ...]


class Bench(Struct, frozen=True, kw_only=True):
    """A task, its dialogue states, and the ground truth for each state."""

    task: Task
    states: tuple[BenchState, ...]
    truths: tuple[StateTruth, ...]


def messages(
    heard: tuple[str, ...], said: tuple[str, ...], system: str = ""
) -> tuple[Message, ...]:
    """Return the system message, if any, then `heard` and `said` alternately; the last message is the human's."""
    before = messages_of(system, heard[:-1], said)
    return (*before, Message(role="user", content=heard[-1]))
