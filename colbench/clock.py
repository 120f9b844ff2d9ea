"""The clock of a dialogue: it counts the agent's own time, and stands while a model server is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RUNNING: ContextVar[Clock | None] = ContextVar("colbench_clock", default=None)


class Clock:
    """Counts seconds up to a limit, except while it stands.

    `async with clock.running():` runs it in the current task, and raises TimeoutError when the limit is reached.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Let it stand."""

    def go(self) -> None:
        """Let it run."""


@contextmanager
def waiting() -> Iterator[None]:
    """Let the clock of the running dialogue stand: what happens inside is not its speaker's time."""
    clock = _RUNNING.get()
    if clock is None or clock.loop is not asyncio.get_running_loop():
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go()
