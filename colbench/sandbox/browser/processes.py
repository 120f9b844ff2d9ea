"""Process information from /proc: parents, and memory in use (mapped files do not count)."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_MADE = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.M)


def parent_of(pid: int) -> int:
    """Return the ID of a process's parent. Raises OSError if the process has ended."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def family(root: int) -> list[int]:
    """Return the IDs of a process and all its descendants."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            children[parent_of(int(entry.name))].append(int(entry.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def family_memory(root: int) -> int:
    """Return the memory of a process and all its descendants in bytes, without mapped files."""
    return sum(map(_own_memory, family(root)))


def _own_memory(pid: int) -> int:
    """Return a process's memory in bytes, with shared memory but without mapped files; 0 if it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return sum(1024 * int(size) for size in _MADE.findall(status))
    return 0
