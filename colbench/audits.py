"""The audits of a finished dialogue: what the human leaked, what the agent asked for, and what the human revealed.

Auditing reads the task's reference and every message. It takes half of the CPU time of a dialogue with a fast agent.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from colbench.asking.derive import with_asking
from colbench.leaks import audit_turns
from colbench.rollout import Rollout
from colbench.task import Task


class Auditor(Protocol):
    """An auditor of finished dialogues."""

    async def audited(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its audits; see the function `audited`."""


class InProcess:
    """An auditor that audits rollouts in this process."""

    async def audited(self, task: Task, rollout: Rollout) -> Rollout:
        """Return the rollout with its audits."""
        return audited(task, rollout)


def audited(task: Task, rollout: Rollout) -> Rollout:
    """Return a copy of a rollout that also records what the human leaked in each turn (`Turn.leak`).

    If the leaks of all replies are already recorded, they are kept. In a domain without audits (`Domain.audited`), no
    leaks are recorded. If scoring did not fail and the task's decisions are known, the copy also records the decisions
    that each turn asked for and revealed, and the measures of the agent's questions (`with_asking`).
    """
    if any(turn.human is not None and turn.leak is None for turn in rollout.turns):
        rollout = replace(rollout, turns=audit_turns(task, rollout.turns))
    unscored = rollout.answer is not None and rollout.failure is not None
    return rollout if unscored else with_asking(task, rollout)
