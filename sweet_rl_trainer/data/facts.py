"""The number of a task's facts that a dialogue has not revealed yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from colbench.task import Task


def still_hidden(task: Task, replies: Iterable[str]) -> Iterator[int]:
    """Yield the number of hidden facts at the start, and after each reply of the human.

    A fact stays hidden until the request or a reply contains its statement in the wording of the rule-based human.
    """
    hidden = {fact.statement for fact in task.hidden.facts if not fact.stated}
    yield len(hidden)
    for reply in replies:
        hidden = {statement for statement in hidden if statement not in reply}
        yield len(hidden)
