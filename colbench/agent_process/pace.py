"""Reports from a host to the harness: how many seconds of a pending reply do not count as the agent's time.

The harness counts the time from its request to the reply. A clock in the host counts less: it pauses while the agent
waits for a model server, or while another dialogue's code blocks the event loop. The host reports the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Lock, Thread

from colbench.agent_process.protocol import Spared
from colbench.clock import Clock

TICK = 0.25
"""Seconds between two checks of the pending replies."""
WORTH = 0.05
"""Smallest difference in seconds that is reported."""


class Pace:
    """A reporter of the seconds that do not count as the agent's time; its thread runs from `start` to `stop`.

    `say` sends a report to the harness.
    """

    def __init__(self, say: Callable[[Spared], None]) -> None:
        self._say = say
        self._due: dict[str, _Due] = {}
        self._lock = Lock()
        self._ended = Event()

    def start(self) -> None:
        """Start the thread that checks all pending replies."""
        Thread(target=self._watch, daemon=True, name="colbench-pace").start()

    def stop(self) -> None:
        """Stop the thread."""
        self._ended.set()

    def asked(self, episode: str) -> None:
        """Note that a reply was requested. Until `counted` is called, the agent is charged no time."""
        with self._lock:
            self._due[episode] = _Due()

    def counted(self, episode: str, clock: Clock) -> None:
        """Set the clock that measures the time of the agent's pending reply in an episode."""
        with self._lock:
            if due := self._due.get(episode):
                due.clock = clock

    def answered(self, episode: str) -> None:
        """Report the remaining seconds that do not count as the agent's time; call this before sending the reply."""
        with self._lock:
            if due := self._due.pop(episode, None):
                self._tell(episode, due)

    def _watch(self) -> None:
        while not self._ended.wait(TICK):
            with self._lock:
                for episode, due in self._due.items():
                    self._tell(episode, due)

    def _tell(self, episode: str, due: _Due) -> None:
        seconds = due.spared() - due.told
        if seconds >= WORTH:
            due.told += seconds
            self._say(Spared(episode=episode, seconds=seconds))


class _Due:
    def __init__(self) -> None:
        self.since = time.monotonic()
        self.clock: Clock | None = None
        self.told = 0.0

    def spared(self) -> float:
        counted = self.clock.seconds if self.clock else 0.0
        return time.monotonic() - self.since - counted
