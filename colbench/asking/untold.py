"""The hidden decisions of a task that a dialogue never revealed."""

from __future__ import annotations

from colbench.rollout import Rollout
from colbench.task import Task


def untold_decisions(task: Task | None, rollout: Rollout) -> tuple[str, ...]:
    """Return the names of the hidden decisions that no reply revealed, in the task's order.

    The tuple is empty if the task is missing, if its decisions were only estimated, or if the dialogue's questions were
    not analyzed.
    """
    if task is None or rollout.asking is None:
        return ()
    told = {name for turn in rollout.turns for name in turn.told or ()}
    return tuple(
        fact.name
        for fact in task.hidden.facts
        if not (fact.stated or fact.name in told or fact.statement in rollout.request)
    )
