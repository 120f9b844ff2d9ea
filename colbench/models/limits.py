"""The limit on concurrent requests to a model server. It grows slowly with success and is cut at overload."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

CUT = 0.8
"""Factor for the limit after the server reports overload.

It is applied to the number of requests in flight or to the old limit, whichever is lower.
"""
RECOVERY = 4.0
"""Growth of the limit per round. A round has as many answered requests as the limit allows at the same time.

The growth is only 1 per round once the limit comes within 1 of the load at which the server last reported overload.
"""


class Slot:
    """The permission to send one request. The sender reports the outcome: `succeeded`, or `refused` at overload."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self._cuts = limit.cuts

    def succeeded(self) -> None:
        """Increase the limit a little, because the request was answered."""
        self._limit.raise_()

    def refused(self) -> None:
        """Cut the limit, unless it has been cut since the request was sent.

        An overloaded server often refuses many requests together. These refusals should cut the limit only once.
        """
        if self._cuts == self._limit.cuts:
            self._limit.cut()


class AdaptiveLimit:
    """A semaphore whose size adapts to the load that the server can take.

    `async with limit.slot() as slot:` holds a slot. Requests get slots in the order in which they asked, but a repeated
    request, marked by `again`, goes first.
    """

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.allowed = float(maximum)
        self.cuts = 0
        self.in_flight = 0
        self._refused_at = float("inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a slot."""
        return len(self._waiting)

    @asynccontextmanager
    async def slot(self, *, again: bool = False) -> AsyncIterator[Slot]:
        """Wait for a slot, and hold it while the context is open."""
        await self._acquire(again=again)
        try:
            yield Slot(self)
        finally:
            self._release()

    def resize(self, maximum: int) -> None:
        """Change the maximum of the limit.

        If the limit was at the old maximum, it becomes the new maximum. Otherwise, the limit changes only if it is
        above the new maximum.
        """
        full = self.allowed >= self.maximum
        self.maximum = maximum
        self.allowed = float(maximum) if full else min(self.allowed, float(maximum))
        self._admit()

    def raise_(self) -> None:
        """Increase the limit a little, up to the maximum."""
        step = RECOVERY if self.allowed < self._refused_at - 1 else 1.0
        self.allowed = min(float(self.maximum), self.allowed + step / self.allowed)

    def cut(self) -> None:
        """Cut the limit to four fifths, but at least to 1.

        The new limit is four fifths of the number of requests in flight or of the old limit, whichever is lower.
        """
        self.cuts += 1
        self._refused_at = min(self.allowed, float(self.in_flight))
        self.allowed = max(1.0, CUT * self._refused_at)

    async def _acquire(self, *, again: bool) -> None:
        if self.in_flight < int(self.allowed) and not self._waiting:
            self.in_flight += 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.appendleft(slot) if again else self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.allowed):
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                self.in_flight += 1
