"""Processes that an attack leaves behind. They are found as descendants of the harness even if their parents exited."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_MEMORY = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Make orphaned descendants children of this process; at the end, kill all descendants started in the meantime."""
    prctl = ctypes.CDLL(None).prctl
    before = descendants(os.getpid())
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        for process in descendants(os.getpid()) - before:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def descendants(process: int) -> frozenset[int]:
    """Return the IDs of the living descendants of a process."""
    parents = dict(_parents())
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return frozenset(found - {process})


def _parents() -> Iterator[tuple[int, int]]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                yield int(name), int(parent)


def memory_of(processes: frozenset[int]) -> int:
    """Return the memory of these processes in bytes, without mapped files. Shared memory counts once per process."""
    kilobytes = 0
    for process in processes:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process}/status").read_text()
            kilobytes += sum(map(int, _MEMORY.findall(status)))
    return kilobytes << 10
