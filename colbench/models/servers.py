"""The model servers of an event loop: one limit and one health state for each URL, shared by all callers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from itertools import chain
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import EndpointError
from colbench.event_loop import every
from colbench.models.limits import AdaptiveLimit
from colbench.numbers import count

PATIENCE = 900.0
"""Default number of seconds to wait for a server that is unreachable or overloaded."""
POLL = (1.0, 10.0)
"""Seconds between two checks of an unreachable server: the initial and the maximum value."""
TOLD_AFTER = 2.0
"""Seconds after which a wait is reported."""
WAIT_INTERVAL = 1.0
"""Interval in seconds at which the current waits are checked, so that changes can be reported."""


class Wait(Struct, frozen=True, kw_only=True):
    """A wait to report to the user, such as the wait for a model server."""

    url: str = ""
    """URL of the model server; empty if `reason` alone describes the wait, such as a wait that an agent reports."""
    reason: str
    requests: int = 0
    """Number of refused requests that wait; 0 if the server cannot be reached."""
    seconds: int = 0

    def __str__(self) -> str:
        if not self.url:
            return self.reason
        if not self.requests:
            return f"{self.url} unreachable for {self.seconds} s: {self.reason}; retrying"
        waiting = f"{count(self.requests, 'request')} waiting for {self.seconds} s"
        return f"{self.url}: {waiting}: {self.reason}"

    def __add__(self, other: Wait) -> Wait:
        """Return the waits of two processes for the same server, combined into one."""
        longer = self if self.seconds >= other.seconds else other
        reached = self.requests and other.requests
        return replace(longer, requests=self.requests + other.requests if reached else 0)


class Server:
    """One model server. The agent and the human share one object if their models have the same URL."""

    def __init__(self, url: str, concurrency: int, patience: float) -> None:
        self.url = url
        self.concurrency = concurrency
        """Maximum number of requests in flight, from all processes that share the server."""
        self.limit = AdaptiveLimit(concurrency)
        self.patience = patience
        self.has_answered = False
        """True after the first answered request: from then on, a refused key or URL may be a temporary fault."""
        self.users = 0
        self._down_since: float | None = None
        self._reason = ""
        self._poll: asyncio.Task[None] | None = None
        self._backing_off = dict[str, int]()
        self._refused_since: float | None = None

    def divide(self, sharers: int) -> None:
        """Set the maximum of this process's limit to its part of `concurrency`; at least 1.

        `sharers` is the number of processes that share `concurrency`.
        """
        self.limit.resize(max(1, self.concurrency // sharers))

    @property
    def is_down(self) -> bool:
        """True while the server cannot be reached."""
        return self._down_since is not None

    def answered(self) -> None:
        """Record that a request was answered."""
        self.has_answered = True
        self._refused_since = None

    async def ready(self) -> None:
        """Wait while the server cannot be reached.

        Raises EndpointError after `patience` seconds, and any error other than ConnectionError that the probe raises.
        """
        if self._poll:
            await asyncio.shield(self._poll)

    def lost(self, reason: str, probe: Callable[[], Awaitable[None]]) -> None:
        """Record that the server cannot be reached.

        `probe` is called repeatedly until it succeeds or raises an error other than ConnectionError, at most for
        `patience` seconds.
        """
        self._reason = reason
        if self._poll is None:
            self._down_since = time.monotonic()
            self._poll = asyncio.create_task(self._until_up(probe))
            self._poll.add_done_callback(self._end_poll)

    async def _until_up(self, probe: Callable[[], Awaitable[None]]) -> None:
        start, pause = time.monotonic(), POLL[0]
        while True:
            left = start + self.patience - time.monotonic()
            if left <= 0:
                raise EndpointError(
                    f"{self.url}: unreachable for {self.patience:g} s (--endpoint-patience): "
                    f"{self._reason}",
                    kind="connection",
                )
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, POLL[1])
            try:
                await probe()
            except ConnectionError as cause:
                self._reason = str(cause)
            else:
                return

    def _end_poll(self, poll: asyncio.Task[None]) -> None:
        self._poll = self._down_since = None
        if not poll.cancelled():
            poll.exception()  # read, so that asyncio does not log it; waiting requests raise it

    def stop(self) -> None:
        """Stop waiting for the server."""
        if self._poll:
            self._poll.cancel()

    @contextmanager
    def backing_off(self, reason: str) -> Iterator[None]:
        """While the `with` block runs, count one more request that the server refused and that waits to be retried."""
        self._refused_since = self._refused_since or time.monotonic()
        self._backing_off[reason] = self._backing_off.get(reason, 0) + 1
        try:
            yield
        finally:
            self._backing_off[reason] -= 1
            if not self._backing_off[reason]:
                del self._backing_off[reason]

    def wait(self) -> Wait | None:
        """Return the current wait, such as for a rate limit; None if no wait has lasted for `TOLD_AFTER` seconds."""
        now = time.monotonic()
        if self._down_since is not None and now - self._down_since >= TOLD_AFTER:
            return Wait(url=self.url, reason=self._reason, seconds=int(now - self._down_since))
        since = self._refused_since
        if since is not None and self._backing_off and now - since >= TOLD_AFTER:
            return Wait(
                url=self.url,
                reason=max(self._backing_off, key=lambda each: self._backing_off[each]),
                requests=sum(self._backing_off.values()),
                seconds=int(now - since),
            )
        return None


class Servers:
    """The servers of one event loop, by URL."""

    def __init__(self) -> None:
        self.patience = PATIENCE
        self._sharers = 1
        self.waits_elsewhere: dict[object, Sequence[Wait]] = {}
        """Waits in other processes, such as an agent's, by the object that reports them."""
        self._by_url = dict[str, Server]()

    def join(self, url: str, concurrency: int) -> Server:
        """Return the server at a URL, and count the caller as its user.

        The lowest `concurrency` of all callers applies. Processes that share the server divide this number equally.
        """
        server = self._by_url.get(url)
        if server is None:
            server = self._by_url[url] = Server(url, concurrency, self.patience)
        server.users += 1
        server.concurrency = min(server.concurrency, concurrency)
        server.divide(self._sharers)
        return server

    def share(self, sharers: int) -> None:
        """Divide the limit of each server among this many processes from now on."""
        self._sharers = sharers
        for server in self._by_url.values():
            server.divide(sharers)

    def leave(self, server: Server) -> None:
        """Remove one user of a server; forget a server without users."""
        server.users -= 1
        if not server.users:
            server.stop()
            self._by_url.pop(server.url, None)

    def waits(self) -> list[Wait]:
        """Return the current waits in all processes: one for each model server, and one for each other reason."""
        own = (server.wait() for server in self._by_url.values())
        found: dict[str, Wait] = {}
        for wait in chain(filter(None, own), *self.waits_elsewhere.values()):
            name = wait.url or wait.reason
            found[name] = found[name] + wait if name in found else wait
        return list(found.values())


_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, Servers] = WeakKeyDictionary()


def current_servers() -> Servers:
    """Return the servers of the running event loop."""
    return _BY_LOOP.setdefault(asyncio.get_running_loop(), Servers())


def waits_told(tell: Callable[[Sequence[Wait]], None]) -> AbstractAsyncContextManager[None]:
    """Return a context manager that passes the current waits (`Servers.waits`) to `tell` whenever they change."""
    told: list[Wait] = []

    def look() -> None:
        nonlocal told
        waits = current_servers().waits()
        if waits != told:
            told = waits
            tell(waits)

    return every(WAIT_INTERVAL, look)
