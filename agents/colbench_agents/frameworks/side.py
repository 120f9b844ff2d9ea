"""A thread with its own event loop, in which an agent of another framework runs.

In this thread, blocking code delays neither the human nor the scoring. Code that never returns is abandoned. It does
not keep the process alive, because every thread is a daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from colbench.clock import RUNNING
from colbench.loop_watch import LoopWatch

P = ParamSpec("P")
T = TypeVar("T")
PATIENCE = 5.0
"""Seconds to wait for running code to end when the thread is stopped."""


class LateError(TimeoutError):
    """A wrapper that carries a TimeoutError between threads; asyncio would replace the bare error with a new one."""

    def __init__(self, original: TimeoutError) -> None:
        super().__init__(*original.args)
        self.original = self.__cause__ = original


class Side:
    """A thread with an event loop: `start` it, `run` coroutines in it from any other loop, then `stop` it.

    In these coroutines, each call of `asyncio.to_thread` gets a new thread without waiting, even if many earlier
    calls block.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._work, daemon=True, name="agent")

    def start(self) -> None:
        """Start the thread; call this only once."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_Threads())
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine in the thread and return its result. Canceling the call cancels the coroutine."""
        if self._loop is None:
            work.close()
            raise RuntimeError("the agent must be used inside `async with`")
        if clock := RUNNING.get():
            clock.follow(self._loop)
        running = asyncio.run_coroutine_threadsafe(_tamed(work), self._loop)
        try:
            return await asyncio.wrap_future(running)
        except LateError as late:
            raise late.original from None

    async def stop(self) -> None:
        """Cancel the running coroutines and stop the thread; code that does not end in time is abandoned."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        ending = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end_others(), loop))
        await asyncio.wait([ending], timeout=PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        if ending.done():
            await asyncio.to_thread(self._thread.join)
            loop.close()

    def _work(self) -> None:
        if self._loop:
            asyncio.set_event_loop(self._loop)
            with LoopWatch(self._loop).running():
                self._loop.run_forever()


class _Threads(ThreadPoolExecutor):
    """An executor with a new daemon thread for each call. In a fixed pool, hanging calls would occupy all threads."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(LateError(error) if type(error) is TimeoutError else error)

        Thread(target=work, daemon=True).start()
        return future


async def _tamed(work: Coroutine[Any, Any, T]) -> T:
    """Return the coroutine's result; convert exceptions that would end the process to RuntimeError."""
    try:
        return await work
    except LateError:
        raise
    except TimeoutError as error:
        raise LateError(error) from error
    except (SystemExit, KeyboardInterrupt) as cause:
        raise RuntimeError(f"the code raised {type(cause).__name__}: {cause}") from cause


async def _end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
