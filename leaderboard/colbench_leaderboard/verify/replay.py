"""Replaying the rule-based human, who gives the same replies everywhere, so that invented replies are detected."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

from colbench.errors import RenderError, SimulatorError
from colbench.interfaces import HumanSimulator
from colbench.messages import Message, clean
from colbench.rollout import Rollout
from colbench.task import Task
from colbench_leaderboard.bundle.schema import Lock
from colbench_leaderboard.bundle.tracks import HUMAN

CLASS = "colbench.simulators.keyless:KeylessHuman"
"""The class that `keyless` resolves to."""
SHOWN = 80
"""Maximum number of characters of a reply to show in a finding."""


def is_keyless(lock: Lock) -> bool:
    """Return True if the human of a run is the unmodified rule-based human."""
    resolved = lock.pins.get("human")
    named = resolved.get("class") if isinstance(resolved, dict) else None
    changed = lock.config.get("human_args") or lock.config.get("human_prompt")
    return lock.config.get("human") == HUMAN and named == CLASS and not changed


def sample(
    bundle: str, cells: Iterable[tuple[str, int]], share: float
) -> frozenset[tuple[str, int]]:
    """Draw the cells (task and trial) in which the human is asked again: the share `share` of all cells, rounded up.

    For the same share and cells, the draw depends only on the bundle's digest, so everyone draws the same cells.
    """
    drawn = sorted(cells, key=lambda cell: _lot(bundle, *cell))
    return frozenset(drawn[: math.ceil(round(share * len(drawn), 6))])


def _lot(bundle: str, task_id: str, trial: int) -> bytes:
    return hashlib.sha256(f"{bundle} {trial} {task_id}".encode()).digest()


async def replay(human: HumanSimulator, task: Task, rollout: Rollout) -> tuple[int, str]:
    """Ask the human again for each reply of a dialogue, up to the first reply that differs.

    Returns the number of equal replies, and a description of the reply that differs ("" if all are equal). Raises
    RenderError if a page cannot be rendered.
    """
    dialogue = [Message(role="user", content=task.request)]
    for number, turn in enumerate(rollout.turns):
        if turn.human is None:
            return number, ""
        dialogue.append(Message(role="assistant", content=turn.said))
        reply = await _reply(human, task, dialogue)
        if reply != turn.human:
            theirs = f"where the bundle has {_short(turn.human)}"
            return number, f"{task.id}, turn {number + 1}: the human says {_short(reply)}, {theirs}"
        dialogue.append(Message(role="user", content=turn.human))
    return len(rollout.turns), ""


async def _reply(human: HumanSimulator, task: Task, dialogue: list[Message]) -> str | None:
    try:
        reply = await human.respond(task, tuple(dialogue))
    except RenderError:
        raise
    except SimulatorError:
        return None
    return clean(reply if isinstance(reply, str) else reply.content)


def _short(reply: str | None) -> str:
    if reply is None:
        return "nothing"
    return f"{reply[:SHOWN]!a}{'…' if len(reply) > SHOWN else ''}"
