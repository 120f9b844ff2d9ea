"""Examples on disk: each trajectory's side once, however many pairs it is in.

FOLDER/train.msgpack      the examples to train on
FOLDER/held_out.msgpack   those of the held-out tasks
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from colbench.errors import DataError
from sweet_rl_trainer.data.examples import Example, Examples, PairExample, Side

TRAIN, HELD_OUT = "train.msgpack", "held_out.msgpack"


_Number = Annotated[int, Meta(ge=0)]


class _Example(Struct, frozen=True, array_like=True):
    ids: bytes
    """Little-endian int32."""
    token_weights: bytes
    """Little-endian float32."""
    pictures: tuple[str, ...] = ()


class _Side(Struct, frozen=True, array_like=True):
    examples: tuple[_Example, ...]
    trajectory: str
    reward: float
    turns: int
    reply_tokens: int


class _Stored(Struct, frozen=True, kw_only=True):
    """A file."""

    sides: list[_Side]
    pairs: list[tuple[_Number, _Number, str]] | None
    """The numbers of chosen and rejected side, and the task's hash; None: the sides are the examples."""


def write(path: Path, examples: Examples) -> None:
    """Write examples; all of them or nothing."""
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.msgpack.encode(_stored(examples)))
    part.rename(path)


def read(path: Path) -> Examples:
    """The examples of a file. Raises DataError if it is damaged."""
    try:
        return _examples(msgspec.msgpack.decode(path.read_bytes(), type=_Stored))
    except (msgspec.DecodeError, ValueError, IndexError) as cause:
        raise DataError(f"{path}: {cause}; delete its folder to have it made anew") from cause


def _examples(stored: _Stored) -> Examples:
    sides = list(map(_side, stored.sides))
    if stored.pairs is None:
        return sides
    return [
        PairExample(chosen=sides[chosen], rejected=sides[rejected], task_hash=task)
        for chosen, rejected, task in stored.pairs
    ]


def _stored(examples: Examples) -> _Stored:
    numbers: dict[int, int] = {}
    sides: list[_Side] = []

    def number(side: Side) -> int:
        if id(side) not in numbers:
            numbers[id(side)] = len(sides)
            sides.append(_store(side))
        return numbers[id(side)]

    pairs = [
        (number(each.chosen), number(each.rejected), each.task_hash)
        for each in examples
        if isinstance(each, PairExample)
    ]
    if pairs or not examples:
        return _Stored(sides=sides, pairs=pairs)
    alone = [_store(each) for each in examples if isinstance(each, Side)]
    return _Stored(sides=alone, pairs=None)


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


def _bytes(values: array[int] | array[float]) -> bytes:
    return np.asarray(values, dtype=f"<{values.typecode}4").tobytes()


def _array(kind: str, content: bytes) -> array[Any]:
    found = array(kind)
    found.frombytes(np.frombuffer(content, f"<{kind}4").astype(kind).tobytes())
    return found
