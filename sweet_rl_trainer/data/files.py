"""Examples on disk; a `Side` that is part of several pairs is stored once.

FOLDER/train.msgpack      the examples to train on
FOLDER/held_out.msgpack   the examples of the held-out tasks
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Meta, Struct

from colbench.errors import DataError
from sweet_rl_trainer.data.examples import Example, Examples, PairExample, Side

TRAIN, HELD_OUT = "train.msgpack", "held_out.msgpack"


_Number = Annotated[int, Meta(ge=0)]


class _Example(Struct, frozen=True, array_like=True):
    ids: memoryview
    """Token IDs, little-endian int32."""
    token_weights: memoryview
    """Token weights, little-endian float32."""
    pictures: tuple[str, ...] = ()


class _Side(Struct, frozen=True, array_like=True):
    examples: tuple[_Example, ...]
    trajectory: str
    reward: float
    turns: int
    reply_tokens: int


class _Stored(Struct, frozen=True, kw_only=True):
    """The content of a file."""

    sides: list[_Side]
    pairs: list[tuple[_Number, _Number, str]] | None
    """For each pair, the indices in `sides` of the chosen and of the rejected side, and the task's hash.

    None if each side is an example.
    """
    not_imitated: list[_Number] = []
    """The indices of the pairs whose chosen side is not imitated (`PairExample.imitated`)."""


class Writer:
    """A writer that adds examples to a file, so that not all examples need to be in memory.

    The finished file decodes to `_Stored`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._alone = False
        self._pairs: list[tuple[int, int, str]] = []
        self._not_imitated: list[int] = []
        self._sides = 0
        file.write(_MAP_OF_THREE + msgspec.msgpack.encode("sides"))
        self._head = file.tell()
        file.write(_list_head(0))

    def add(self, examples: Examples) -> None:
        """Add examples. A side that is part of several of these pairs is written only once."""
        numbers: dict[int, int] = {}

        def number(side: Side) -> int:
            if id(side) not in numbers:
                numbers[id(side)] = self._write(side)
            return numbers[id(side)]

        for each in examples:
            if isinstance(each, PairExample):
                if not each.imitated:
                    self._not_imitated.append(len(self._pairs))
                self._pairs.append((number(each.chosen), number(each.rejected), each.task_hash))
            else:
                self._alone = True
                self._write(each)

    def finish(self) -> None:
        """Append the other fields of `_Stored`, and write the number of sides into the header of the list `sides`."""
        pairs = None if self._alone else self._pairs
        for name, content in (("pairs", pairs), ("not_imitated", self._not_imitated)):
            self._file.write(msgspec.msgpack.encode(name) + msgspec.msgpack.encode(content))
        self._file.seek(self._head)
        self._file.write(_list_head(self._sides))

    def _write(self, side: Side) -> int:
        self._file.write(msgspec.msgpack.encode(_store(side)))
        self._sides += 1
        return self._sides - 1


_MAP_OF_THREE = b"\x83"
"""MessagePack's header of a map with three keys."""


def _list_head(count: int) -> bytes:
    """Return MessagePack's header of a list. All headers have the same size, so one can overwrite another."""
    return b"\xdd" + count.to_bytes(4, "big")


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """Yield a writer of examples; the file appears only if all examples were written."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        writer = Writer(file)
        yield writer
        writer.finish()
    part.rename(path)


def write(path: Path, examples: Examples) -> None:
    """Write examples atomically."""
    with writing(path) as writer:
        writer.add(examples)


def read(path: Path) -> Examples:
    """Return the examples of an existing file. Raises DataError if the file is damaged."""
    try:
        return _examples(msgspec.msgpack.decode(path.read_bytes(), type=_Stored))
    except (msgspec.DecodeError, ValueError, IndexError) as cause:
        raise DataError(
            f"{path}: {cause}; delete the folder {path.parent}, and repeat the command, which writes the file again"
        ) from cause


def _examples(stored: _Stored) -> Examples:
    sides = list(map(_side, stored.sides))
    if stored.pairs is None:
        return sides
    without = frozenset(stored.not_imitated)
    return [
        PairExample(
            chosen=sides[chosen],
            rejected=sides[rejected],
            task_hash=task,
            imitated=number not in without,
        )
        for number, (chosen, rejected, task) in enumerate(stored.pairs)
    ]


def _store(side: Side) -> _Side:
    return _Side(
        tuple(
            _Example(_bytes(each.ids), _bytes(each.token_weights), each.pictures)
            for each in side.examples
        ),
        side.trajectory,
        side.reward,
        side.turns,
        side.reply_tokens,
    )


def _side(stored: _Side) -> Side:
    return Side(
        examples=tuple(
            Example(
                ids=_array("i", each.ids),
                token_weights=_array("f", each.token_weights),
                pictures=each.pictures,
            )
            for each in stored.examples
        ),
        trajectory=stored.trajectory,
        reward=stored.reward,
        turns=stored.turns,
        reply_tokens=stored.reply_tokens,
    )


def _bytes(values: array[int] | array[float]) -> memoryview:
    return memoryview(np.asarray(values, dtype=f"<{values.typecode}4").tobytes())


def _array(kind: str, content: memoryview) -> array[Any]:
    found = array(kind)
    found.frombytes(np.frombuffer(content, f"<{kind}4").astype(kind, copy=False).tobytes())
    return found
