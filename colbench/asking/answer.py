"""The unrevealed decisions that a wrong answer gets right, and the revealed decisions that it contradicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from colbench.asking.telling import literals
from colbench.items import NUMBER, Items, number_forms
from colbench.leaks import hidden_items, said_by
from colbench.task import Fact, Task


def guessed(task: Task, used: Items, untold: Collection[Fact]) -> Iterator[Fact]:
    """Yield the unrevealed decisions (`untold`) that an answer guesses right.

    A guess is right if the decision's statement has hidden numbers or texts (`hidden_items`), and the items of the
    answer (`used`) contain all of them.
    """
    hidden = hidden_items(task)
    right = literals(hidden & used)
    for fact in untold:
        own = literals(said_by(hidden, fact.statement))
        if own and own <= right:
            yield fact


def ignored(task: Task, used: Items, told: Collection[Fact]) -> Iterator[Fact]:
    """Yield the revealed decisions (`told`) that an answer with the items `used` contradicts.

    An answer contradicts a decision if the answer lacks a hidden number or text of the decision's statement. Hidden
    items are in the reference but not in the request (`hidden_items`). A percentage may have any of its forms: 20
    percent may appear as 20, 0.2, 0.8 or 1.2.
    """
    hidden = hidden_items(task)
    for fact in told:
        forms = (frozenset(number_forms(*found)) for found in NUMBER.findall(fact.statement))
        numbers = (each for each in forms if each & hidden.numbers)
        texts = said_by(hidden, fact.statement).texts
        if any(not each & used.numbers for each in numbers) or not texts <= used.texts:
            yield fact
