"""Helpers for asyncio. `run` is like `asyncio.run`, but abandons leftover tasks that ignore cancellation."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from colbench.clock import STOP_GRACE
from colbench.config import workers

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
COLLECTED_AFTER = 10_000
"""Number of new objects after which the garbage collector looks for cycles; the default of Python 3.11 is 700.

Dialogues keep many objects for a long time. With the default, scanning these objects took an eighth of the CPU time.
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, and return its result.

    Remaining tasks are canceled at the end and get at most `STOP_GRACE` seconds to finish. Threads of
    `asyncio.to_thread` are not waited for, and do not keep the process alive.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()
    loop.set_default_executor(DaemonThreads())
    try:
        return runner.run(work)
    finally:
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.set_exception_handler(lambda *_: None)  # ignore abandoned tasks
        loop.close()
        asyncio.set_event_loop(None)


class _RareCollections(AbstractContextManager[None]):
    """A context in which garbage collection is less frequent.

    The context may be opened again while it is open. The old frequency returns when all openings are closed.
    """

    def __init__(self) -> None:
        self._open = 0
        self._before = gc.get_threshold()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < COLLECTED_AFTER:
                    gc.set_threshold(COLLECTED_AFTER, *self._before[1:])

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                gc.set_threshold(*self._before)


RARE_COLLECTIONS = _RareCollections()
"""A context that raises the garbage collector's threshold to `COLLECTED_AFTER`, unless it is higher or 0 (off)."""


@asynccontextmanager
async def every(seconds: float, call: Callable[[], None]) -> AsyncIterator[None]:
    """Call a function at intervals while the context is open. If a call fails, cancel the body and raise the error."""

    async def repeat() -> None:
        while True:
            await asyncio.sleep(seconds)
            call()

    try:
        async with asyncio.TaskGroup() as group:
            calls = group.create_task(repeat())
            yield
            calls.cancel()
    except BaseExceptionGroup as errors:
        error = first_of(errors)
        raise error from error.__cause__


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error in an exception group, which may contain other groups."""
    error: BaseException = errors.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error


async def in_order(
    items: Iterable[T], work: Callable[[T], Coroutine[Any, Any, R]], *, most: int
) -> AsyncIterator[tuple[T, R]]:
    """Yield each item with the result of `work` for it, in the order of the items.

    Up to `most` calls of `work` run at the same time.
    """
    begun: deque[tuple[T, asyncio.Task[R]]] = deque()
    try:
        for item in items:
            begun.append((item, asyncio.ensure_future(work(item))))
            if len(begun) >= most:
                first, task = begun.popleft()
                yield first, await task
        while begun:
            first, task = begun.popleft()
            yield first, await task
    finally:
        for _, task in begun:
            task.cancel()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        ended, _ = await asyncio.wait(tasks, timeout=STOP_GRACE)
        for task in ended:
            with suppress(BaseException):
                task.result()


class DaemonThreads(ThreadPoolExecutor):
    """A pool of threads that do not keep the process alive. Its maximum size is the default of the standard library."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._most = min(32, workers(0) + 4)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread, and return its future."""
        future: Future[T] = Future()

        def call() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)

        self._calls.put(call)
        if not self._idle.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            threading.Thread(target=self._serve, daemon=True).start()
        return future

    def _serve(self) -> None:
        while call := self._calls.get():
            call()
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the library's
        """Tell the threads to end after all submitted calls, without waiting for them."""
        for _ in range(self._started):
            self._calls.put(None)
