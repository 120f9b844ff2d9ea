"""A monitor of the peak memory of this process and its subprocesses while a block of code runs."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

SECONDS = 0.5
"""Time between two measurements."""


class MemoryMonitor:
    """A context manager that measures memory while its block runs.

    `peak` is the largest sum, in bytes, of the resident memory of this process and all its descendants; shared pages
    are counted once for each process. A peak shorter than `SECONDS` may be missed.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._measure()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finished.set()
        self._thread.join()
        self._measure()

    def _poll(self) -> None:
        while not self._finished.wait(SECONDS):
            self._measure()

    def _measure(self) -> None:
        import psutil

        here = psutil.Process()
        total = 0
        for process in (here, *here.children(recursive=True)):
            try:
                total += process.memory_info().rss
            except psutil.Error:
                continue  # it has exited in the meantime, or may not be inspected
        self.peak = max(self.peak, total)
