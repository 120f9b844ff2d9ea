"""Files with one line of JSON for each task. After an interruption, the next run adds the missing lines."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from colbench.errors import DataError
from colbench.run_folder import LineWriter
from sweet_rl_trainer.console import progress

Line = TypeVar("Line", bound=Struct)


def filled(
    path: Path,
    kind: type[Line],
    items: Sequence[Any],
    make: Callable[[Any], Line],
    processes: int,
) -> list[Line]:
    """Return the lines of a file, one for each item. Lines missing from the file are first computed and appended.

    Raises DataError, which names the file and line, if a line is damaged.
    """
    done = list(read_lines(path, kind))
    if len(done) < len(items):
        writer = LineWriter(path)
        try:
            with progress(path.stem, len(items) - len(done)) as advance:
                for line in in_processes(make, items[len(done) :], processes):
                    writer.write(msgspec.json.encode(line) + b"\n")
                    done.append(line)
                    advance()
        finally:
            writer.close()
    return done[: len(items)]


def read_lines(path: Path, kind: type[Line]) -> Iterator[Line]:
    """Yield the complete lines of a file.

    Raises DataError, which names the file and line, if a complete line is damaged.
    """
    decoder = msgspec.json.Decoder(kind)
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as cause:
            raise DataError(
                f"{path}:{number}: {cause}; delete the file to regenerate it"
            ) from cause


def shorten(path: Path, count: int) -> None:
    """Delete all but the first `count` lines of a file, if it exists."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if len(lines) > count:
        os.truncate(path, sum(map(len, lines[:count])))


def in_processes(
    make: Callable[[Any], Line], items: Sequence[Any], processes: int
) -> Iterator[Line]:
    """Yield `make(item)` for each item, in order.

    The work runs in `processes` new processes, which exit when the current process ends. If `processes` is 1, the work
    runs in the current process.
    """
    if processes == 1:
        yield from map(make, items)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_end_with_parent) as pool:
        waiting = iter(items)
        ahead = [pool.submit(make, each) for each in islice(waiting, 2 * processes)]
        while ahead:
            yield ahead.pop(0).result()
            ahead += [pool.submit(make, each) for each in islice(waiting, 1)]


def _end_with_parent() -> None:
    """Make this process exit when its parent process has ended, even by `kill -9`."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
