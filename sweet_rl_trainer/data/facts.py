"""The facts of a task that the human's messages reveal word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from colbench.task import Fact, Task


def told_at_first(task: Task, opening: str) -> list[Fact]:
    """Return the facts that a dialogue's first message adds to the request.

    With `--told all`, these are all hidden facts.
    """
    added = (fact for fact in task.hidden.facts if fact.statement not in task.request)
    return [fact for fact in added if fact.statement in opening]


def still_hidden(task: Task, replies: Iterable[str]) -> Iterator[int]:
    """Yield the number of hidden facts before the first of the human's `replies`, and after each of them.

    A fact counts as hidden if the request does not state it (`Fact.stated`), and no reply so far contains its statement
    word for word, as the rule-based human says it.
    """
    hidden = {fact.statement for fact in task.hidden.facts if not fact.stated}
    yield len(hidden)
    for reply in replies:
        hidden = {statement for statement in hidden if statement not in reply}
        yield len(hidden)
