"""The frozen task sets of ColBench, `bundled:DOMAIN/test` and `bundled:DOMAIN/train`.

The sets are generated from the seeds `test` and `train` on first use, compared with their frozen SHA-256, and kept in
the cache folder. `frozen/DOMAIN/SEED.toml` pins the families of a set by name and version, so that a new family does
not change existing sets. `bundled:backend` is `bundled:backend/test`.
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

from colbench.cache import cache_folder
from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.task import Task, read_tasks, row_from_task
from colbench_tasks.generated import INSTALLED, Query, make

logger = logging.getLogger("colbench")

FROZEN = Path(__file__).with_name("frozen")


class Frozen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The definition of a frozen task set: the content of `frozen/DOMAIN/SEED.toml`."""

    number: int
    """Number of tasks in the set."""
    sha256: str
    """The SHA-256 of the set as JSON lines."""
    families: dict[str, int]
    """The version of each family by name. The tasks are drawn from the families in this order."""
    floors: dict[str, dict[str, float]] = {}
    """Scores of the bundled agents that ask nothing, by agent and metric. Each score is a mean over all tasks."""


SETS = {
    f"{file.parent.name}/{file.stem}": msgspec.toml.decode(file.read_bytes(), type=Frozen)
    for file in sorted(FROZEN.glob("*/*.toml"))
}
"""Sets by name, e.g. `backend/test`."""


def load(name: str) -> list[Task]:
    """Return the tasks of a bundled set, which are the same on every machine, byte for byte.

    The families alternate: the first task of each family, then the second task of each, and so on.

    Raises UserError if no set has this name, if a family cannot be loaded or is not installed in the pinned version, or
    if this installation generates a set that differs from the frozen one.
    """
    full = name if "/" in name else f"{name}/test"
    if full not in SETS:
        known = sorted({*SETS, *(each.removesuffix("/test") for each in SETS)})
        listed = ", ".join(f"bundled:{each}" for each in known)
        hint = did_you_mean(name, known, before="bundled:", then=f"available: {listed}")
        raise UserError(f"--tasks: unknown set bundled:{name}{hint}")
    return list(_loaded(full))


def lines(tasks: Iterable[Task]) -> bytes:
    """Return the tasks as JSON lines in the official schema."""
    return b"".join(msgspec.json.encode(row_from_task(task)) + b"\n" for task in tasks)


def check_families(name: str, frozen: Frozen) -> None:
    """Raise UserError unless every family of a set is installed in the version from which the set is generated."""
    installed = INSTALLED[name.partition("/")[0]]
    for family, version in frozen.families.items():
        found = f"version {installed[family].version}" if family in installed else "none"
        if found != f"version {version}":
            raise UserError(
                f"--tasks bundled:{name}: the set is generated from version {version} of the family "
                f"{family}, but {found} is installed; install a ColBench release that contains version {version}"
            )


@cache
def _loaded(name: str) -> tuple[Task, ...]:
    frozen = SETS[name]
    check_families(name, frozen)
    kept = cache_folder() / "tasks" / f"{name.replace('/', '-')}-{frozen.sha256[:12]}.jsonl"
    if _sha256(kept) == frozen.sha256:
        return tuple(read_tasks(kept))
    domain, _, seed = name.partition("/")
    query = Query(number=frozen.number, families=tuple(frozen.families))
    tasks = make(domain, seed, query, f"bundled:{name}")
    content = lines(tasks)
    made = hashlib.sha256(content).hexdigest()
    if made != frozen.sha256:
        raise UserError(
            f"--tasks bundled:{name}: this installation generates other tasks (SHA-256 {made}) than "
            f"those of the bundled set (SHA-256 {frozen.sha256}); reinstall ColBench, or use "
            f"generated:{name}?number={frozen.number} for a set of your own"
        )
    try:
        keep(kept, content)
    except OSError as cause:
        logger.warning("bundled:%s cannot be cached and is regenerated each time: %s", name, cause)
    return tuple(tasks)


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file; "" if the file cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def keep(path: Path, content: bytes) -> None:
    """Write a file atomically. Raises OSError if the file cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
