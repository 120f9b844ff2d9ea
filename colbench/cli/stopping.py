"""Handling of SIGINT and SIGTERM: the first signal stops a run cleanly.

A second signal, or the end of a time limit, ends the process immediately.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from colbench import event_loop
from colbench.loop_watch import interrupt

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST = 9.5
"""Maximum seconds from the first signal to the end of the process, whatever happens."""
REPEATED = 1.0
"""Seconds after the first signal during which more signals are ignored; GNU timeout, for example, sends two signals."""
INTERVAL = 0.5
"""Seconds between two attempts to interrupt an agent's or a human's code that is still running after the signal."""


class Stop:
    """A handler of SIGINT and SIGTERM that stops a command cleanly, and remembers the first signal."""

    def __init__(self) -> None:
        self._number = 0
        self._since = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    @property
    def code(self) -> int:
        """The exit code for the first signal, 128 plus its number; 0 if there was no signal."""
        return 128 + self._number if self._number else 0

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in a new event loop, until it ends or a signal cancels it."""
        try:
            event_loop.run(self._cancellable(work))
        except asyncio.CancelledError:
            if not self._number:
                raise
        finally:
            self._loop = self._task = None

    async def _cancellable(self, work: Coroutine[Any, Any, None]) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        await work

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Cancel the work, or raise KeyboardInterrupt if nothing runs. At the second signal, exit immediately.

        A signal less than `REPEATED` seconds after the first is a duplicate and does nothing.
        """
        if self._number:
            self._exit_at_second()
            return
        self._number, self._since = number, time.monotonic()
        _say("stopping: finished dialogues are kept; interrupt again to exit immediately")
        threading.Thread(target=self._end_in_time, daemon=True).start()
        if self._loop is None or self._task is None:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._task.cancel)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
        interrupt(self._loop, frame)

    def _exit_at_second(self) -> None:
        if time.monotonic() - self._since >= REPEATED:
            _say("stopped at once, without a report; repeat the command to continue")
            os._exit(self.code)

    def on_alarm(self, _number: int, frame: FrameType | None) -> None:
        """Interrupt code that keeps the GIL, such as a regular expression; a thread could not do this."""
        if self._loop:
            interrupt(self._loop, frame)

    def _end_in_time(self) -> None:
        time.sleep(LONGEST)
        _say(
            f"stopped without a report, because stopping took longer than {LONGEST:g} s; repeat the "
            "command to continue"
        )
        os._exit(self.code)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Let SIGINT and SIGTERM stop the work of a command cleanly."""
    stop = Stop()
    before = {number: signal.signal(number, stop.on_signal) for number in SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, stop.on_alarm)
    try:
        yield stop
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    """Write a line to standard error, bypassing buffers that the interrupted code may be writing to."""
    os.write(2, f"\ncolbench: {text}\n".encode())
