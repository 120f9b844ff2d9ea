"""The most memory that this process and those that it started have, while something is done."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

SECONDS = 0.5
"""Between two looks."""


class Peak:
    """A context in which memory is watched.

    `bytes` is the most resident memory that was seen of this process and all below it, added up: pages that several
    of them share count for each. What lasts less than half a second may be missed.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._watch.join()
        self._look()

    def _look_on(self) -> None:
        while not self._over.wait(SECONDS):
            self._look()

    def _look(self) -> None:
        import psutil

        here = psutil.Process()
        total = 0
        for process in (here, *here.children(recursive=True)):
            try:
                total += process.memory_info().rss
            except psutil.Error:
                continue  # it has ended since, or is not ours to look at
        self.bytes = max(self.bytes, total)
