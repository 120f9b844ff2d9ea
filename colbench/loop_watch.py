"""A monitor of an event loop, which finds the speaker (agent or human) whose code blocks the loop.

The blocked time is charged to that speaker, and the code is interrupted when the speaker's time is up.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
import threading
import time
from asyncio import Handle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sys import _current_frames
from types import FrameType

from colbench import clock as clocks
from colbench.clock import GRACE, PULSES, RUNNING, Clock, Interrupted, Pulse
from colbench.errors import place_of

TICK = 0.25
"""Seconds between two checks of the loop."""
BLOCKED = 1.0
"""Seconds without an iteration after which the loop counts as blocked."""
WARNED = 5.0
"""Seconds of blocking after which the location of the code is logged."""
WAKE = signal.SIGURG
"""Signal that interrupts a system call in the main thread; ignored by default, so a late signal does no harm."""
HARNESS = (clocks.__file__, f"{Path(asyncio.__file__).parent}{os.sep}")
"""Beginnings of the paths of files whose code never counts as code of a speaker."""

logger = logging.getLogger("colbench")
_WATCHES: dict[asyncio.AbstractEventLoop, LoopWatch] = {}


def frame_of(thread: int) -> FrameType | None:
    """Return the current frame of a thread; None if the thread has ended.

    Garbage collection is off meanwhile: CPython before 3.11.9 and 3.12.3 could otherwise start a collection while it
    holds a lock that new threads need, and wait forever (gh-106883).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _current_frames().get(thread)
    finally:
        if enabled:
            gc.enable()


@contextmanager
def watched_loop() -> Iterator[LoopWatch]:
    """Watch the running event loop; if the loop already has a watch, reuse it."""
    loop = asyncio.get_running_loop()
    if loop in _WATCHES:
        yield _WATCHES[loop]
        return
    watch = _WATCHES[loop] = LoopWatch(loop)
    try:
        with watch.running():
            yield watch
    finally:
        del _WATCHES[loop]


def interrupt(loop: asyncio.AbstractEventLoop, frame: FrameType | None) -> None:
    """Interrupt, from now on, any code that blocks the loop; `frame` is the frame that a signal handler received.

    Raises Interrupted immediately if the frame belongs to a speaker's code.
    """
    if loop in _WATCHES:
        _WATCHES[loop].stopping = True
        if _clock_of(_frames(frame)):
            raise Interrupted


class LoopWatch:
    """A watch that polls an event loop a few times per second from a separate thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stopping = False
        """True if code that blocks the loop must be interrupted even before its time is up."""
        self._loop = loop
        self._pulse = Pulse()
        self._thread = threading.get_ident()
        self._in_main = threading.current_thread() is threading.main_thread()
        self._looked = time.monotonic()
        self._asked: float | None = None
        self._accounted = 0.0
        self._suspect: Clock | None = None
        self._suspected_since = 0.0
        self._interrupted: float | None = None
        self._warned: set[str] = set()
        self._ended = threading.Event()
        self._lock = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch the event loop while the block runs."""
        PULSES[self._loop] = self._pulse
        before = signal.signal(WAKE, self._on_wake) if self._in_main else None
        thread = threading.Thread(target=self._watch, daemon=True, name="colbench-loop-watch")
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            if self._in_main:
                signal.signal(WAKE, before or signal.SIG_DFL)
            del PULSES[self._loop]

    def _watch(self) -> None:
        with suppress(RuntimeError):  # the loop was closed
            while not self._ended.wait(TICK):
                self._look()

    def _look(self) -> None:
        now = time.monotonic()
        with self._lock:
            before, self._looked = self._looked, now
            if self._asked is None:
                # the time when this check was due: code that holds the GIL also delays this thread
                self._asked = self._accounted = min(now, before + TICK)
                self._loop.call_soon_threadsafe(self._answer)
            if now - self._asked < BLOCKED:
                return
            frames = _frames(frame_of(self._thread))
            clock = _clock_of(frames)
            if clock is not self._suspect:
                self._suspect, self._suspected_since = clock, self._accounted
            self._account(now)
        if clock:
            self._treat(clock, frames, now - self._suspected_since)

    def _answer(self) -> None:
        """Record that the event loop responds; if it was blocked, add the duration to the total."""
        now = time.monotonic()
        with self._lock:
            if self._asked is not None and now - self._asked >= BLOCKED:
                self._account(now)
            self._asked = self._suspect = self._interrupted = self._pulse.pending_since = None

    def _account(self, now: float) -> None:
        """Charge the suspect alone (the speaker that blocks the loop) with the time since the last call of this method.

        If the suspect ignores an interrupt for `GRACE` seconds, charge the time to all speakers, so that they time out.
        """
        passed, self._accounted = now - self._accounted, now
        if self._interrupted is not None and now - self._interrupted > GRACE:
            self._pulse.pending_since = None
            return
        self._pulse.lost += passed
        self._pulse.pending_since = now
        if self._suspect:
            self._suspect.blocked += passed

    def _treat(self, clock: Clock, frames: list[FrameType], seconds: float) -> None:
        clock.place = place = _place(frames)
        if seconds >= WARNED and place not in self._warned:
            self._warned.add(place)
            logger.warning(
                "%s has blocked the event loop for %.0f s; run the blocking code with asyncio.to_thread",
                place,
                seconds,
            )
        if clock.is_over or self.stopping:
            self._interrupted = self._interrupted or time.monotonic()
            self._interrupt()

    def _interrupt(self) -> None:
        if self._in_main:
            signal.pthread_kill(self._thread, WAKE)
        elif _clock_of(_frames(frame_of(self._thread))) is self._suspect:
            thread, error = ctypes.c_ulong(self._thread), ctypes.py_object(Interrupted)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)

    def _on_wake(self, _number: int, frame: FrameType | None) -> None:
        clock = _clock_of(_frames(frame))
        if clock is not None and clock is self._suspect and (clock.is_over or self.stopping):
            raise Interrupted


def _frames(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of the callback that the loop runs, from its asyncio handle inward; empty between callbacks."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        if frame.f_code is Handle._run.__code__:
            return found[::-1]
        frame = frame.f_back
    return []


def _clock_of(frames: list[FrameType]) -> Clock | None:
    """Return the clock of the speaker whose code is running; None for code of the harness.

    Code of asyncio counts as code of the harness, because asyncio would report an exception raised in its code as an
    error of a transport.
    """
    if not frames or frames[-1].f_code.co_filename.startswith(HARNESS):
        return None
    handle = frames[0].f_locals.get("self")  # None if the callback has just ended
    clock: Clock | None = handle._context.get(RUNNING) if handle else None
    return clock


def _place(frames: list[FrameType]) -> str:
    """Return the file and line where the speaker's own code is running."""
    lines = [(frame.f_code.co_filename, frame.f_lineno) for frame in frames[1:]]
    inside = max((n for n, (file, _) in enumerate(lines, 1) if file == clocks.__file__), default=0)
    return place_of(lines[inside:])
