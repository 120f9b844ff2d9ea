"""Console output of the trainer.

Progress is shown as a bar in a terminal, and otherwise as an occasional line. If training has several processes, only
the first process shows progress.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from colbench.console import errors

PLAIN_INTERVAL = 10.0
"""Minimum number of seconds between two lines of progress, if the console is not a terminal."""

T_co = TypeVar("T_co", covariant=True)


class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """An iterable of known length."""


@contextmanager
def progress(
    name: str, total: int, *, every: float = PLAIN_INTERVAL
) -> Iterator[Callable[[], None]]:
    """Yield a function; call it each time that one of `total` items is done.

    `every`: the minimum number of seconds between two lines if the console is not a terminal.
    """
    console = errors()
    if not total or os.environ.get("RANK", "0") != "0":
        yield lambda: None
    elif console.is_terminal:
        with _bar(name, total, console) as advance:
            yield advance
    else:
        yield _Lines(name, total, every).advance


def shown(name: str, things: SizedIterable[T_co]) -> Iterator[T_co]:
    """Yield the items and show progress; an item counts as done when the next one is requested."""
    with progress(name, len(things)) as advance:
        for each in things:
            yield each
            advance()


@contextmanager
def _bar(name: str, total: int, console: Console) -> Iterator[Callable[[], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda: bar.advance(task)


class _Lines:
    def __init__(self, name: str, total: int, every: float) -> None:
        self._name = name
        self._total = total
        self._every = every
        self._done = 0
        self._said = time.monotonic()

    def advance(self) -> None:
        self._done += 1
        if time.monotonic() - self._said >= self._every:
            self._said = time.monotonic()
            errors().out(f"{self._name} {self._done:,}/{self._total:,}", highlight=False)


def quiet() -> None:
    """Hide warnings of bitsandbytes and, if standard error is not a terminal, the progress bars of transformers.

    Call this function before anything imports these packages.
    """
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def no_bars() -> Iterator[None]:
    """Hide the progress bars of transformers, because they would interfere with the trainer's bars."""
    from transformers.utils import logging as transformers_logging

    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
