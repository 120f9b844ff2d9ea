"""Detection of runs that the HTTP client slows down: the openai package uses about 2 ms of CPU time per call."""

from __future__ import annotations

import logging
import time

from colbench.models.transports import Client

CALL = 0.002
"""CPU seconds of a call through the openai package (`docs/benchmarks.md`)."""
BUSY = 0.8
"""Share of the elapsed time. A thread whose CPU time exceeds this share counts as busy."""
SHARE = 0.4
"""Share of a thread's CPU time. If the openai package uses more than this share, another client would help."""

logger = logging.getLogger("colbench")


class ClientLoad:
    """The CPU load of the thread in which a chat client runs, measured from the creation of this object."""

    def __init__(self, client: Client) -> None:
        self.calls = 0
        self._client = client
        self._wall, self._cpu = time.monotonic(), time.thread_time()

    def tell(self) -> None:
        """Log a hint if the openai package limited the speed of the run."""
        wall, cpu = time.monotonic() - self._wall, time.thread_time() - self._cpu
        if self._client == "openai" and holds_up(self.calls, wall, cpu):
            logger.warning(
                "the HTTP client slows the run down: at %.0f calls per second, its thread used %.0f %% of a "
                "CPU core; set client=aiohttp with --agent-arg or --human-arg, which uses a tenth of that",
                self.calls / wall,
                100 * cpu / wall,
            )


def holds_up(calls: int, wall: float, cpu: float) -> bool:
    """Return True if calls through the openai package slowed a thread down.

    The thread made `calls` calls and used `cpu` seconds of CPU time in `wall` seconds. The result is always False if
    `wall` is at most 1.
    """
    return wall > 1 and cpu > BUSY * wall and calls * CALL > SHARE * cpu
