"""What /proc says about processes: who started whom, and how much memory each has for itself."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_MEMORY_PAGE = os.sysconf("SC_PAGE_SIZE")


def parent_of(pid: int) -> int:
    """The process that started this one. Raises OSError when it has ended."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def family(root: int) -> list[int]:
    """This process and all that descend from it."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            children[parent_of(int(entry.name))].append(int(entry.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def own_memory(pid: int) -> int:
    """Bytes in memory that it does not share with others; 0 when it has ended."""
    with suppress(OSError):
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * _MEMORY_PAGE
    return 0
