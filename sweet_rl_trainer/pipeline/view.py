"""The human-readable output of a stage, for the console and the page: tables and examples, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")
EXAMPLES = "shown.json"
"""Name of the file with a few examples of a stage, which `examples` reads."""
COUNT = 4


class Table(Struct, frozen=True, kw_only=True):
    """A table of strings."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class ShownSide(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a pair, or a success to imitate, as it is displayed."""

    name: str
    score: float
    tokens: int
    turns: int = 1
    text: str = ""
    """The reply; "" for a whole dialogue, which `name` identifies."""


class ShownPair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A training example on the page: a pair or, with only the chosen side, a success."""

    chosen: ShownSide
    rejected: ShownSide | None = None
    context: str = ""
    """The human's previous message."""


class View(Struct, frozen=True, kw_only=True):
    """The human-readable output of a stage."""

    tables: tuple[Table, ...] = ()
    pairs: tuple[ShownPair, ...] = ()
    measure: str = "reward"
    """The meaning of the pairs' scores."""
    picture: str = ""
    """Name of a picture in the stage's folder, without `.svg` and `.png`."""


def write_examples(folder: Path, pairs: Iterable[ShownPair]) -> None:
    """Write examples to the folder of a stage."""
    content = msgspec.json.format(msgspec.json.encode(list(pairs)))
    (folder / EXAMPLES).write_bytes(content + b"\n")


def examples(folder: Path, measure: str = "reward") -> View:
    """Return the examples in a stage's folder; empty if an older version wrote no file of examples."""
    path = folder / EXAMPLES
    if not path.is_file():
        return View()
    pairs = msgspec.json.decode(path.read_bytes(), type=tuple[ShownPair, ...])
    return View(pairs=pairs, measure=measure)


def spread(things: Sequence[T], count: int = COUNT) -> list[T]:
    """Return at most `count` of the items, taken at even intervals."""
    if len(things) <= count:
        return list(things)
    return [things[number * len(things) // count] for number in range(count)]
