"""Facts of a task that a dialogue has revealed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from colbench.task import Task


def still_hidden(task: Task, replies: Iterable[str]) -> Iterator[int]:
    """Yield the number of facts that are hidden at the start, and after each reply of the human.

    The request leaves them open, and no reply has said their statement, as the keyless human does.
    """
    hidden = {fact.statement for fact in task.hidden.facts if not fact.stated}
    yield len(hidden)
    for reply in replies:
        hidden = {statement for statement in hidden if statement not in reply}
        yield len(hidden)
