"""The task sets that ship with ColBench, `bundled:NAME`: generated from a named seed on first use."""

from __future__ import annotations

from functools import cache

from colbench.errors import UserError
from colbench.task import Task
from colbench_tasks import generate as backend
from colbench_tasks.families import FAMILIES
from colbench_tasks.frontend import generate as frontend
from colbench_tasks.frontend.kinds import KINDS

SETS = {"backend": 15, "frontend": 4}
"""Tasks of each family or kind of page, by the set's name, which is also its seed."""


def load(name: str) -> list[Task]:
    """The tasks of a bundled set, the families in turn; the same bytes on every machine.

    Raises UserError listing the sets when there is none of that name.
    """
    if name not in SETS:
        known = ", ".join(f"bundled:{known}" for known in sorted(SETS))
        raise UserError(f"--tasks: there is no bundled:{name}; there is {known}")
    return list(_generated(name))


@cache
def _generated(name: str) -> tuple[Task, ...]:
    number = SETS[name]
    if name == "frontend":
        by_family = [frontend.generate(kind, number, name) for kind in KINDS]
    else:
        by_family = [backend.generate(family, number, name) for family in FAMILIES.values()]
    return tuple(task for tasks in zip(*by_family, strict=True) for task in tasks)
