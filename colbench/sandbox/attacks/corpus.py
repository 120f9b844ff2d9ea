"""The attacks as values, read from `sources/`: one text file for each class.

A file begins with a line that says what its class does. Each attack follows a line `#### aim: name`, where the
aim is what the attack reaches where nothing stops it. `CANARY_FOLDER`, `CANARY_PORT` and `CANARY_SOCKET` stand for
what a `Canary` watches. Except in class `text`, the source is put into a fence, as models write it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from colbench.sandbox.attacks.canary import Canary
from colbench.sandbox.attacks.sources import Source, read_attacks, read_controls

Aim = Literal["score", "end", "hang", "next", "memory", "trace", "honest"]
"""`score`: pass without knowing the answer. `end`: the evaluator dies or cannot read its results. `hang`: it never
finishes. `next`: the next honest answer fails. `memory`: the machine's memory is used up. `trace`: a file, a
connection, or a process is left. `honest`: none of these; it must score 1."""
_SOURCES = Path(__file__).parent / "sources"


class Attack(Struct, frozen=True, kw_only=True):
    """An answer that tries to get more than it has earned (or, as a control, an honest one)."""

    name: str
    kind: str
    """The class of attacks it belongs to."""
    aim: Aim
    source: str

    def answer(self, canary: Canary) -> str:
        """Return the text to be scored, aimed at what this canary watches."""
        text = self.source
        for word, value in canary.words.items():
            text = text.replace(word, value)
        return text.removesuffix("\n") if self.kind == "text" else f"```python\n{text}```"


@cache
def attacks() -> tuple[Attack, ...]:
    """Return every attack, by class."""
    return tuple(map(_attack, read_attacks(_SOURCES)))


@cache
def controls() -> tuple[Attack, ...]:
    """Return honest answers to the same task. The first uses everything that attacks are known to change."""
    return tuple(map(_attack, read_controls(_SOURCES)))


def _attack(source: Source) -> Attack:
    return Attack(name=source.name, kind=source.kind, aim=cast(Aim, source.aim), source=source.text)
