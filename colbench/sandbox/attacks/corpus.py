"""The corpus of attacks, which is read from `sources/`: one text file for each class.

A file begins with a line that describes its class. Before each attack is a line `#### aim: name`, where the aim is what
the attack achieves without isolation. `CANARY_FOLDER`, `CANARY_PORT` and `CANARY_SOCKET` stand for the targets that a
`Canary` watches, and `REPEATED_LETTERS` and `REPEATED_BLANKS` for long texts. Except in class `text`, the source is put
into a code fence, as in the answers of models.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from colbench.sandbox.attacks.canary import Canary
from colbench.sandbox.attacks.sources import Source, read_attacks, read_controls

Aim = Literal["score", "end", "hang", "next", "memory", "trace", "honest"]
"""Aim of an attack: the harm that it does without isolation.

`score`: it passes without knowing the answer. `end`: the evaluator dies or cannot read its results. `hang`: the
evaluator never finishes. `next`: the next honest answer fails. `memory`: the machine's memory is used up. `trace`: a
file, a connection, or a process is left behind. `honest`: none of these; it is a control, which must score 1.
"""
_SOURCES = Path(__file__).parent / "sources"


class Attack(Struct, frozen=True, kw_only=True):
    """An answer that tries to cheat or to do other harm (or, as a control, an honest one)."""

    name: str
    kind: str
    """The class of the attack."""
    aim: Aim
    source: str

    def answer(self, canary: Canary) -> str:
        """Return the text to score, with this canary's targets inserted."""
        text = self.source
        for word, value in canary.words.items():
            text = text.replace(word, value)
        return text.removesuffix("\n") if self.kind == "text" else f"```python\n{text}```"


@cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks, ordered by class."""
    return tuple(map(_attack, read_attacks(_SOURCES)))


@cache
def controls() -> tuple[Attack, ...]:
    """Return honest answers to the task under attack. The first one uses everything that known attacks tamper with."""
    return tuple(map(_attack, read_controls(_SOURCES)))


def _attack(source: Source) -> Attack:
    return Attack(name=source.name, kind=source.kind, aim=cast(Aim, source.aim), source=source.text)
