"""States of a dialogue, and potentials of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from colbench.messages import Message
from colbench.task import Task
from sweet_rl_trainer.data.trajectories import Trajectory


class State(Struct, frozen=True, kw_only=True):
    """A dialogue before one of the agent's turns: o in the formulas."""

    task: Task
    """The dialogue's task. Only potentials read its hidden part; the agent sees only the messages."""
    messages: tuple[Message, ...]
    """The system message, if any, then messages of the human and the agent alternately; the last is the human's."""

    def after(self, said: str, heard: str) -> State:
        """Return the state after a turn: the agent's reply, as later prompts show it, and then the human's answer."""
        turn = (Message(role="assistant", content=said), Message(role="user", content=heard))
        return State(task=self.task, messages=(*self.messages, *turn))

    @property
    def start(self) -> State:
        """The state before the first turn: the request alone."""
        first = next(n for n, each in enumerate(self.messages, 1) if each.role == "user")
        return State(task=self.task, messages=self.messages[:first])

    @property
    def heard(self) -> tuple[str, ...]:
        """The human's messages, the request first."""
        return tuple(each.content for each in self.messages if each.role == "user")

    @property
    def said(self) -> tuple[str, ...]:
        """The agent's replies."""
        return tuple(each.content for each in self.messages if each.role == "assistant")


Potential = Callable[[Sequence[State]], list[float | None]]
"""Φ: a function that returns a number for each state, in order; None where Φ is not defined.

`facts.FactsPotential` and `gain.GainPotential` are potentials."""


def states_of(trajectory: Trajectory, task: Task) -> list[State]:
    """Return the state before each turn of a trajectory about a task."""
    turns = range(len(trajectory.replies))
    return [State(task=task, messages=trajectory.context(turn)) for turn in turns]
