"""Detection of runs whose speed is limited by the client: the openai package uses about 2 ms of CPU time per call."""

from __future__ import annotations

import logging
import time

from colbench.models.transports import Client

CALL = 0.002
"""CPU seconds of a call through the openai package (`docs/benchmarks.md`)."""
BUSY = 0.8
"""Share of its time spent computing above which a thread counts as busy."""
SHARE = 0.4
"""The client's share of the computing time above which another client would help."""

logger = logging.getLogger("colbench")


class ClientLoad:
    """The load of one client's event loop, from the object's creation on."""

    def __init__(self, client: Client) -> None:
        self.calls = 0
        self._client = client
        self._wall, self._cpu = time.monotonic(), time.thread_time()

    def tell(self) -> None:
        """Log a hint if the openai package limited the speed of the run."""
        wall, cpu = time.monotonic() - self._wall, time.thread_time() - self._cpu
        if self._client == "openai" and holds_up(self.calls, wall, cpu):
            logger.warning(
                "the HTTP client slows the run down: %.0f calls per second used %.0f %% of a "
                "core; client=aiohttp (--agent-arg, --human-arg) uses a tenth of that",
                self.calls / wall,
                100 * cpu / wall,
            )


def holds_up(calls: int, wall: float, cpu: float) -> bool:
    """Return True if calls through the openai package filled a thread that computed for `cpu` of `wall` seconds."""
    return wall > 1 and cpu > BUSY * wall and calls * CALL > SHARE * cpu
