"""The decisions in an answer: those that it gets right without having been told, and told ones that it contradicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from colbench.asking.telling import heard, literals
from colbench.items import NUMBER, number_forms
from colbench.leaks import hidden_items, used_items
from colbench.registry import get_domain
from colbench.task import Fact, Task


def guessed(task: Task, answer: str, untold: Collection[Fact], *, right: bool) -> Iterator[Fact]:
    """Yield the decisions that an answer gets right although the human never told them.

    These are all untold decisions if the answer is `right`, else those whose numbers and texts it contains.
    """
    used = literals(used_items(task, get_domain(task.domain).source(answer)))
    for fact in untold:
        own = heard(task, fact.statement).literals
        if right or (own and own <= used):
            yield fact


def ignored(task: Task, answer: str, told: Collection[Fact], *, right: bool) -> Iterator[Fact]:
    """Yield the told decisions that an answer contradicts: it lacks a number of theirs that the reference contains.

    A percentage counts in any of its forms (20 percent as 20, 0.2, 0.8 or 1.2). A right answer contradicts none.
    """
    if right:
        return
    domain = get_domain(task.domain)
    hidden = hidden_items(task)
    used = domain.items(domain.source(answer))
    for fact in told:
        forms = (frozenset(number_forms(*found)) for found in NUMBER.findall(fact.statement))
        numbers = (each for each in forms if each & hidden.numbers)
        texts = heard(task, fact.statement).literals & hidden.texts
        if any(not each & used.numbers for each in numbers) or not texts <= used.texts:
            yield fact
