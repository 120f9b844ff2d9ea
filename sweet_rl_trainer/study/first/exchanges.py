"""Who asks and who writes: policies with answers exchanged, and what of their difference is due to which."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from colbench.numbers import NOTHING, percent_with_range, points_with_range
from sweet_rl_trainer.study.first.comparison import command, seeds
from sweet_rl_trainer.study.first.methods import METHODS, NAMED
from sweet_rl_trainer.study.first.results import Results
from sweet_rl_trainer.study.first.tables import (
    BySeed,
    Difference,
    contrast,
    difference,
    find,
    full_label,
    on_tests,
)
from sweet_rl_trainer.study.text import code, escape, table


class Parts(Struct, frozen=True, kw_only=True):
    """How far one method is ahead of another; `whole` is the sum of the other two."""

    one: str
    other: str
    whole: Difference
    asking: Difference
    """One asks in place of the other; the mean of that with the one's answers and with the other's."""
    writing: Difference
    """One writes in place of the other; the mean of that in the one's dialogues and in the other's."""
    more: Difference
    """What is due to writing less what is due to asking."""

    @property
    def split(self) -> tuple[Difference, ...]:
        """The parts in the order of the table."""
        return self.whole, self.asking, self.writing, self.more


def exchanged(results: Results) -> str | None:
    """Return the tables as Markdown; None if nothing was exchanged."""
    names = _names(results)
    if not names:
        return None
    cells = {(asker, writer): _cell(results, asker, writer) for asker in names for writer in names}
    labels = [escape(full_label(NAMED[name])) for name in names]
    grid = [
        [label, *(cells[asker, writer] for writer in names)]
        for label, asker in zip(labels, names, strict=True)
    ]
    split = [
        [
            f"{escape(full_label(NAMED[each.one]))} less {escape(full_label(NAMED[each.other]))}",
            *(f"{points_with_range(part.points)}; {seeds(part)}" for part in each.split),
        ]
        for each in parts(results)
    ]
    heads = (
        "points (95 % interval); each seed",
        "both ",
        "by what is asked ",
        "by what is written ",
        "written less asked ",
    )
    folders = ", ".join(code(each.folder) for each in results.exchanges)
    return "\n\n".join(
        (
            table(("asks", *(f"{label} writes " for label in labels)), grid),
            table(heads, split),
            f"Made by {code(command(results, *names))}; the dialogues of two: {folders}.",
        )
    )


def parts(results: Results) -> Iterator[Parts]:
    """Yield the parts of the difference between every two methods with exchanged answers."""
    for one, other in combinations(_names(results), 2):
        mine, theirs = on_tests(results, one), on_tests(results, other)
        my_dialogues, their_dialogues = by_seed(results, one, other), by_seed(results, other, one)
        whole = difference(mine, theirs)
        asking = contrast(
            ((0.5, mine), (-0.5, their_dialogues), (0.5, my_dialogues), (-0.5, theirs))
        )
        writing = contrast(
            ((0.5, mine), (-0.5, my_dialogues), (0.5, their_dialogues), (-0.5, theirs))
        )
        more = contrast(((1.0, their_dialogues), (-1.0, my_dialogues)))
        if whole and asking and writing and more:
            yield Parts(
                one=one, other=other, whole=whole, asking=asking, writing=writing, more=more
            )


def by_seed(results: Results, asker: str, writer: str) -> BySeed:
    """Return the outcomes of one method's dialogues with the answers of another, or with its own."""
    if asker == writer:
        return on_tests(results, asker)
    return {
        each.seed: each.test
        for each in results.exchanges
        if (each.asker, each.writer) == (asker, writer)
    }


def _names(results: Results) -> list[str]:
    found = {name for each in results.exchanges for name in (each.asker, each.writer)}
    return [method.name for method in METHODS if method.name in found]


def _cell(results: Results, asker: str, writer: str) -> str:
    found = find(by_seed(results, asker, writer))
    return percent_with_range(found.success) if found else NOTHING
