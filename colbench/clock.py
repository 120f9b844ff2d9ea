"""A clock that counts the seconds of a speaker (an agent or a human), minus its waits for model servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from colbench.errors import AgentError, BoundaryError, place_of

T = TypeVar("T")
Abandon = Callable[[BoundaryError], None]

GRACE = 5.0
"""Seconds that a speaker may take to stop after its time is up. A speaker that takes longer is abandoned."""
STOP_GRACE = 2.0
"""Seconds that a speaker may take to stop when the run is stopped."""

RUNNING: ContextVar[Clock | None] = ContextVar("colbench_clock", default=None)
"""The clock of the speaker whose code is running; asyncio tasks that this code starts inherit it."""


class Interrupted(BaseException):
    """An exception to interrupt code that blocks the event loop, when the code's time is up or the run is stopped."""


class Pulse:
    """A count of the seconds during which an event loop was blocked; `colbench.loop_watch` updates it."""

    def __init__(self) -> None:
        self.lost = 0.0
        self.pending_since: float | None = None
        """Start of the blocked time that `lost` does not include yet; None while the loop is not blocked."""

    def lost_until(self, now: float) -> float:
        """Return the seconds during which the loop was blocked, up to the time `now`."""
        since = self.pending_since
        return self.lost if since is None else self.lost + max(0.0, now - since)


SUPERVISED: WeakKeyDictionary[asyncio.Task[Any], bool] = WeakKeyDictionary()
"""The asyncio tasks that `supervised` started; the value is True for a task that was canceled from outside."""
UNWATCHED = Pulse()
PULSES: WeakKeyDictionary[asyncio.AbstractEventLoop, Pulse] = WeakKeyDictionary()
"""The pulse of each watched event loop."""


class Clock:
    """A clock that counts the seconds of a speaker up to a limit, across all of the speaker's replies.

    The clock pauses inside `waiting()`, and while code of another speaker blocks the event loop.

    Args:
        limit: Limit in seconds. Once it is reached, the running reply is canceled, and `hear` raises `error` with the
            kind `timeout`.
        error: Class of the speaker's errors.
        abandon: Called with the error if the reply has not ended `GRACE` seconds after it was canceled.
    """

    def __init__(
        self,
        limit: float,
        error: type[BoundaryError] = AgentError,
        abandon: Abandon | None = None,
    ) -> None:
        self.limit = limit
        self.error = error
        self.abandon = abandon
        self.loop: asyncio.AbstractEventLoop | None = None
        self.blocked = 0.0
        """Seconds during which this speaker has blocked the event loop."""
        self.place = ""
        """File and line of the code that last blocked the loop."""
        self._pulse = UNWATCHED
        self._pulse_elsewhere = UNWATCHED
        self._spent = 0.0
        self._since: float | None = None
        self._waits = 0
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False

    @property
    def seconds(self) -> float:
        """The seconds counted so far."""
        return self._spent if self._since is None else self._spent + self._now() - self._since

    @property
    def left(self) -> float:
        """The seconds left until the limit."""
        return max(0.0, self.limit - self.seconds)

    @property
    def is_over(self) -> bool:
        """True if the time limit has been reached."""
        return self.seconds >= self.limit

    async def hear(self, speak: Callable[[], Awaitable[T]]) -> T:
        """Return the speaker's message. Only one call may be active at a time.

        Raises the speaker's error if the speaker's time is up, and CancelledError if the current task was canceled from
        outside. In a task that `supervised` started, CancelledError is raised even if the speaker caught it.
        """
        task, outer = self._start(), RUNNING.get()
        cancels = task.cancelling()
        RUNNING.set(self)
        try:
            said = await speak()
        except BaseException as failure:
            self._end(outer)
            self._judge(task, cancels, failure)
            raise
        self._end(outer)
        self._judge(task, cancels, None)
        return said

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make the clock also pause while another speaker blocks `loop`, which runs part of this speaker's code."""
        spared, self._pulse_elsewhere = self._now(), PULSES.get(loop) or UNWATCHED
        if self._since is not None:
            self._since += self._now() - spared

    def spare(self, seconds: float) -> None:
        """Deduct `seconds` from the counted time, but at most the time counted since the last start or resumption."""
        if self._since is not None:
            self._since = min(self._since + seconds, self._now())

    def stop(self) -> None:
        """Pause the clock until each call of `stop` has been undone by a call of `go`."""
        self._waits += 1
        self._halt()

    def go(self) -> None:
        """Undo one call of `stop`; the clock resumes when all calls are undone."""
        self._waits -= 1
        if self._task:
            self._count()

    def _start(self) -> asyncio.Task[Any]:
        self.loop = asyncio.get_running_loop()
        self._pulse = PULSES.get(self.loop) or self._pulse
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a clock must run inside an asyncio task")
        self._expired = False
        self._count()
        return self._task

    def _end(self, outer: Clock | None) -> None:
        RUNNING.set(outer)
        self._halt()
        self._task = None
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _judge(self, task: asyncio.Task[Any], cancels: int, failure: BaseException | None) -> None:
        """Raise an error if the reply was late or canceled; `failure` is the error that the reply raised, if any."""
        if _is_stopped(task, cancels + self._expired, failure):
            if self._expired:
                task.uncancel()
            raise asyncio.CancelledError from failure
        while task.cancelling() > cancels:
            task.uncancel()  # before Python 3.13, a TaskGroup does not undo all of its cancellations
        if self._expired or (
            self.is_over and (failure is None or isinstance(failure, Interrupted))
        ):
            raise self.late() from failure
        if isinstance(failure, Interrupted):
            task.cancel()
            raise asyncio.CancelledError from failure

    def late(self, detail: str = "") -> BoundaryError:
        """Return the error for a speaker that exceeded its time limit."""
        if not detail and self.blocked > self.limit / 2:
            detail = (
                f"{self.place} blocked the event loop; run the blocking code with asyncio.to_thread"
            )
        return self.error(f"no answer in time{': ' if detail else ''}{detail}", kind="timeout")

    def _now(self) -> float:
        """Return the time in seconds, minus the time during which other agents or humans blocked the event loop."""
        now = time.monotonic()
        lost = self._pulse.lost_until(now) + self._pulse_elsewhere.lost_until(now)
        return now - lost + self.blocked

    def _count(self) -> None:
        if self._waits or self._since is not None or self.loop is None:
            return
        self._since = self._now()
        if self._timer is None:
            left = max(0.0, self.limit - self._spent)
            self._timer = self.loop.call_later(left, self._check)

    def _halt(self) -> None:
        self._spent, self._since = self.seconds, None

    def _check(self) -> None:
        """Cancel the reply if its time is up; the timer may fire early, because it also runs while the clock pauses."""
        self._timer = None
        if self._task is None or self.loop is None or self._since is None:
            return
        left = self.limit - self.seconds
        if left > 0:
            self._timer = self.loop.call_later(left, self._check)
            return
        self._expired = True
        self._task.cancel()
        self._timer = self.loop.call_later(GRACE, self._leave)

    def _leave(self) -> None:
        if self._task and self.abandon:
            place = place_of(list(_suspended(self._task)))
            detail = f"{place} did not end within {GRACE:g} s after CancelledError, so the call was abandoned"
            self.abandon(self.late(detail))


def seconds_left() -> float | None:
    """Return the seconds left on the clock of the speaker whose code is running; None if no clock is running."""
    clock = RUNNING.get()
    return None if clock is None else clock.left


@contextmanager
def waiting() -> Iterator[None]:
    """Pause the clock of the speaker whose code is running, while the context is open.

    Do nothing if no clock is running, or if the speaker's clock runs in another event loop.
    """
    clock = RUNNING.get()
    if clock is None or clock.loop is not asyncio.get_running_loop():
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go()


async def supervised(work: Callable[[Abandon], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `work`, which runs in a separate asyncio task.

    `work` receives a function that abandons the task. When this function is called with an error, `supervised` raises
    the error immediately, without waiting for the task.
    """
    left: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def abandon(error: BoundaryError) -> None:
        if not left.done():
            left.set_exception(error)

    task = asyncio.create_task(work(abandon))
    SUPERVISED[task] = False
    try:
        await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        SUPERVISED[task] = True
        task.add_done_callback(_ignore_outcome)
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_GRACE)
        raise
    if task.done():
        return task.result()
    task.add_done_callback(_ignore_outcome)
    return left.result()


def _is_stopped(task: asyncio.Task[Any], cancels: int, failure: BaseException | None) -> bool:
    """Return True if a task was canceled from outside; `cancels` is the number of cancellations to ignore.

    If the task was not started by `supervised`, also return True if the task's own code canceled it. The two cases look
    alike.
    """
    canceled = isinstance(failure, asyncio.CancelledError) and task.cancelling() > cancels
    return SUPERVISED.get(task, canceled)


def _ignore_outcome(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


def _suspended(task: asyncio.Task[Any]) -> Iterator[tuple[str, int]]:
    """Yield the file and line of each coroutine in the call stack of a suspended task, the outermost first."""
    at: Any = task.get_coro()
    while frame := getattr(at, "cr_frame", None):
        yield frame.f_code.co_filename, frame.f_lineno
        at = at.cr_await
