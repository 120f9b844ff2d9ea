"""The file format of a corpus of attacks: one text file for each class of attacks.

The file `controls.txt` contains honest controls. The first line of a file describes its class. A line
`#### AIM: NAME` precedes each source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HEADING = re.compile(r"^#### (\w+): (.+)\n", re.MULTILINE)
_CONTROLS = "controls"


class Source(NamedTuple):
    """The source text of one attack or control."""

    kind: str
    """The class, which is the file's name without `.txt`."""
    aim: str
    name: str
    text: str


def read_attacks(folder: Path) -> Iterator[Source]:
    """Yield the attacks in a folder, ordered by class."""
    for path in sorted(folder.glob("*.txt")):
        if path.stem != _CONTROLS:
            yield from _read(path)


def read_controls(folder: Path) -> Iterator[Source]:
    """Yield the controls in a folder."""
    return _read(folder / f"{_CONTROLS}.txt")


def _read(path: Path) -> Iterator[Source]:
    _words, *parts = _HEADING.split(path.read_text("utf-8"))
    for aim, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield Source(path.stem, aim, name, text.strip("\n") + "\n")
