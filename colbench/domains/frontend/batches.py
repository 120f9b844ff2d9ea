"""Processing of items from many callers, in batches and threads, without waiting for a batch to fill."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Request(NamedTuple, Generic[Item, Result]):
    item: Item
    result: asyncio.Future[Result]


class Batches(Generic[Item, Result]):
    """An executor that runs `work` on batches of up to `size` items, in `lanes` threads.

    Each thread first calls `prepare`. When a thread is free, all waiting items (up to `size`) form its next batch.
    `work` returns one result for each item, in order.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        size: int,
        lanes: int,
        prepare: Callable[[], None],
    ) -> None:
        self._work = work
        self._size = size
        self._free = lanes
        self._threads = ThreadPoolExecutor(lanes, "batches", initializer=prepare)
        self._waiting: deque[_Request[Item, Result]] = deque()
        self._lanes: set[asyncio.Task[None]] = set()

    async def run(self, item: Item) -> Result:
        """Return the item's result, or raise the error that `work` raised on the item's batch."""
        request = _Request[Item, Result](item, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        if self._free:
            self._free -= 1
            lane = asyncio.create_task(self._clear())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
        return await request.result

    async def _clear(self) -> None:
        """Run batches until no item is waiting."""
        loop = asyncio.get_running_loop()
        try:
            while batch := self._next():
                items = [request.item for request in batch]
                try:
                    results = await loop.run_in_executor(self._threads, self._work, items)
                except Exception as error:
                    for request in batch:
                        if not request.result.done():
                            request.result.set_exception(error)
                    continue
                for request, result in zip(batch, results, strict=True):
                    if not request.result.done():
                        request.result.set_result(result)
        finally:
            self._free += 1

    def _next(self) -> list[_Request[Item, Result]]:
        """Return the next batch, without items whose callers have stopped waiting."""
        batch: list[_Request[Item, Result]] = []
        while self._waiting and len(batch) < self._size:
            request = self._waiting.popleft()
            if not request.result.done():
                batch.append(request)
        return batch

    def close(self) -> None:
        """Wait until the threads have finished their current batches, and end them."""
        self._threads.shutdown(cancel_futures=True)
