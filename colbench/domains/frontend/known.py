"""A bounded cache of computed values that waits for running computations instead of repeating them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Known(Generic[Key, Value]):
    """An LRU cache of up to `most` values, by key. A computation that raised an error is not kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Key, asyncio.Task[Value]] = {}

    async def get(self, key: Key, compute: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return the value of a key; compute it unless it is cached or being computed for another caller."""
        task = self._values.pop(key, None)
        if task is None:
            task = asyncio.create_task(compute())
            task.add_done_callback(lambda done: self._forget_failure(key, done))
        self._values[key] = task
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return await asyncio.shield(task)

    def _forget_failure(self, key: Key, done: asyncio.Task[Value]) -> None:
        failed = done.cancelled() or done.exception()
        if failed and self._values.get(key) is done:
            del self._values[key]
