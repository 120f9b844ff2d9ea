"""Wall time, CPU time and memory of this process and its descendants, from /proc."""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

from colbench.sandbox.browser.processes import family

TICKS = os.sysconf("SC_CLK_TCK")
Value = TypeVar("Value")


class Spent(NamedTuple):
    """Seconds of wall time, of CPU time of this process and its descendants, and of CPU time of this process alone."""

    wall: float
    cpu: float
    own: float

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(*(now - then for now, then in zip(self, earlier, strict=True)))

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(one + two for one, two in zip(self, other, strict=True)))


def now() -> Spent:
    """Return the time spent so far; subtract an earlier value to get the time spent since then."""
    return Spent(time.perf_counter(), family_seconds(), time.process_time())


_last, _counted = 0.0, 0.0
"""The sum at the last call of `family_seconds`, and the value that this call returned."""


def family_seconds() -> float:
    """Return the CPU seconds of this process, of its descendants, and of ended processes that they waited for.

    If no process waits for an ended one, its time is lost and the sum falls. The fall is not counted.
    """
    global _last, _counted  # noqa: PLW0603
    own = os.getpid()
    found = sum(os.times()[:4]) + seconds_of(pid for pid in family(own) if pid != own)
    _counted += max(0.0, found - _last)
    _last = found
    return _counted


def seconds_of(pids: Iterable[int]) -> float:
    """Return the CPU seconds of running processes, and of ended children that they waited for."""
    return sum(sum(_ticks(pid)) for pid in pids) / TICKS


def others_seconds() -> dict[int, float]:
    """Return the CPU seconds, by process ID, of all running processes except this one and its descendants."""
    ours = set(family(os.getpid()))
    running = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())
    return {pid: sum(_ticks(pid)[:2]) / TICKS for pid in running if pid not in ours}


def _ticks(pid: int) -> list[int]:
    """Return the user and system CPU ticks of a process, and those of ended children that it waited for."""
    return [int(ticks) for ticks in stat(pid)[11:15]]


def stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat, starting with the state; an empty list if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def memory_mb(pids: Iterable[int], kind: str = "Pss") -> float:
    """Return the memory of processes in MB: `Rss`, or `Pss`, which divides shared memory among its users."""
    return sum(_kilobytes(pid, kind) for pid in pids) / 1024


def _kilobytes(pid: int, kind: str) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(size) for size in re.findall(rf"^{kind}: +(\d+) kB", text, re.MULTILINE))


def peak_mb() -> float:
    """Return the peak memory of this process, in units of 2^20 bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_with_child_mb() -> float:
    """Return `peak_mb` plus the peak of the largest ended child; memory that both share counts twice."""
    return peak_mb() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def peak_gb() -> float:
    """Return the peak memory of this process, in units of 10^9 bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def in_fresh_process(work: Callable[..., Value], *arguments: object) -> Value:
    """Call a module-level function in a fresh process, in which nothing is prepared, and return its result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(work, *arguments).result()
