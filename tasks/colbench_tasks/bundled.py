"""The task sets that come with ColBench, `bundled:DOMAIN/test` and `bundled:DOMAIN/train`.

They are made from the seeds `test` and `train` on first use, checked against their frozen SHA-256, and kept in the
cache folder. `bundled:backend` is `bundled:backend/test`.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.config import cache_folder
from colbench.errors import UserError
from colbench.task import Task, read_tasks, row_from_task
from colbench_tasks.generated import Wishes, make

logger = logging.getLogger("colbench")


class Frozen(Struct, frozen=True, kw_only=True):
    """A set that never changes."""

    number: int
    sha256: str
    """Of the set as JSON lines."""


SETS = {
    "backend/test": Frozen(
        number=1000, sha256="9fb031b83ec0004574ecdeb4ceaa54d3270d94fad696a5baf830202b573f5e66"
    ),
    "backend/train": Frozen(
        number=10_000, sha256="bea4883ffd1ae7edd2ac1698804f06029ac8c0d60b6c7eb00a4bba713fe133b5"
    ),
    "frontend/test": Frozen(
        number=500, sha256="1a48754869bcfa00e0e496175751f6cbf4a3d5c98f750c14d64e1c5da5f1504d"
    ),
    "frontend/train": Frozen(
        number=10_000, sha256="ac178670267f303b616080530a682994688c0db920247d425d7bc68f3881bced"
    ),
}


def load(name: str) -> list[Task]:
    """The tasks of a bundled set, the families in turn; the same bytes on every machine.

    Raises UserError listing the sets when there is none of that name, or when this installation makes another set
    than the frozen one.
    """
    full = name if "/" in name else f"{name}/test"
    if full not in SETS:
        known = ", ".join(f"bundled:{known}" for known in sorted(SETS))
        raise UserError(f"--tasks: there is no bundled:{name}; there is {known}")
    return list(_loaded(full))


def lines(tasks: Iterable[Task]) -> bytes:
    """The tasks as JSON lines in the official schema."""
    return b"".join(msgspec.json.encode(row_from_task(task)) + b"\n" for task in tasks)


@cache
def _loaded(name: str) -> tuple[Task, ...]:
    frozen = SETS[name]
    kept = cache_folder() / "tasks" / f"{name.replace('/', '-')}-{frozen.sha256[:12]}.jsonl"
    if _sha256(kept) == frozen.sha256:
        return tuple(read_tasks(kept))
    domain, _, seed = name.partition("/")
    tasks = make(domain, seed, Wishes(number=frozen.number), f"bundled:{name}")
    content = lines(tasks)
    made = hashlib.sha256(content).hexdigest()
    if made != frozen.sha256:
        raise UserError(
            f"--tasks bundled:{name}: this installation makes a set with the SHA-256 {made}, the frozen one has "
            f"{frozen.sha256}; reinstall ColBench, or use generated:{name}?number={frozen.number} for a set of your own"
        )
    try:
        keep(kept, content)
    except OSError as cause:
        logger.warning("bundled:%s is made anew each time, as it cannot be kept: %s", name, cause)
    return tuple(tasks)


def _sha256(path: Path) -> str:
    """Empty if there is no such file."""
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises OSError where that cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
