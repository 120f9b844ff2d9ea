"""Repair of a damaged run folder: invalid lines are moved from `rollouts.jsonl` to a file next to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from colbench.rollout import SCHEMA, Rollout
from colbench.run_folder import RunFolder

DROPPED = "rollouts.dropped.jsonl"
_DECODER = msgspec.json.Decoder(Rollout)


class Repair(Struct, kw_only=True):
    """The result of a repair: the number of lines kept, and the reason for each line that was dropped."""

    side_file: Path
    """The file to which dropped lines are appended."""
    kept: int = 0
    dropped: list[str] = []


def repair(folder: RunFolder) -> Repair:
    """Move the invalid lines of a run's rollout file to another file; valid lines are kept byte for byte.

    NUL bytes before a valid line are also moved. Raises DataError if the folder does not contain a run. Raises
    UserError if another process uses the folder.
    """
    folder.record()
    done = Repair(side_file=folder.path / DROPPED)
    path = folder.rollouts_path
    with folder.lock():
        if path.exists():
            draft = path.with_name(f".{path.name}.new")
            with path.open("rb") as lines, draft.open("wb") as kept:
                _sort(lines, kept, done)
            if done.dropped:
                draft.replace(path)
            else:
                draft.unlink()
    return done


def _sort(lines: BinaryIO, kept: BinaryIO, done: Repair) -> None:
    dropped = b""
    for number, line in enumerate(lines, 1):
        good, bad, problem = _split(line)
        kept.write(good)
        done.kept += bool(good)
        if problem:
            dropped += bad if bad.endswith(b"\n") else bad + b"\n"
            done.dropped.append(f"line {number}: {problem}")
    kept.flush()
    os.fsync(kept.fileno())
    if dropped:
        with done.side_file.open("ab") as side:
            side.write(dropped)
            side.flush()
            os.fsync(side.fileno())


def _split(line: bytes) -> tuple[bytes, bytes, str]:
    """Return the valid part of a line, the dropped part, and the reason.

    A crash of the machine may leave NUL bytes before a complete line.
    """
    problem = _problem(line)
    if not problem:
        return line, b"", ""
    whole = line.lstrip(b"\0")
    if len(whole) < len(line) and not _problem(whole):
        return whole, line[: len(line) - len(whole)], "NUL bytes"
    return b"", line, problem


def _problem(line: bytes) -> str:
    """Return the reason why a line is not a rollout; "" if it is one."""
    if not line.endswith(b"\n"):
        return "incomplete, because its end is missing"
    try:
        schema = _DECODER.decode(line).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"not a rollout: {error}"
    return "" if schema == SCHEMA else f"schema {schema}, expected {SCHEMA}"
