"""Process information from /proc: parents, and the private memory of each process."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_MADE = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.M)


def parent_of(pid: int) -> int:
    """Return the process that started this one. Raises OSError if it has ended."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def family(root: int) -> list[int]:
    """Return this process and all its descendants."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            children[parent_of(int(entry.name))].append(int(entry.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def family_memory(root: int) -> int:
    """Return the bytes that this process and all its descendants have in memory for themselves."""
    return sum(map(_own_memory, family(root)))


def _own_memory(pid: int) -> int:
    """Return the bytes of a process's private memory, excluding shared pictures and the like; 0 if it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return sum(1024 * int(size) for size in _MADE.findall(status))
    return 0
