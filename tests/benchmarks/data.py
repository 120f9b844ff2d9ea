"""The tasks that benchmarks use: official ones from COLBENCH_OFFICIAL_DATA, or bundled ones."""

from __future__ import annotations

import os
from pathlib import Path

from colbench.pages.extract import extract_page
from colbench.plugins import resolve_tasks
from colbench.task import Task, read_tasks

VARIABLE = "COLBENCH_OFFICIAL_DATA"


def no_backend_rows() -> str:
    """Return what is missing for official backend tasks, or an empty string."""
    return _missing("backend.jsonl")


def no_frontend_rows() -> str:
    """Return what is missing for official frontend tasks, or an empty string."""
    return _missing("frontend.jsonl")


def _missing(name: str) -> str:
    folder = os.environ.get(VARIABLE)
    found = folder and (Path(folder) / name).exists()
    return "" if found else f"set {VARIABLE} to a folder that contains {name}"


def backend_tasks(count: int, *, bundled: bool) -> list[Task]:
    """Return at most `count` backend tasks."""
    return _tasks("backend", count, bundled)


def frontend_pages(count: int, *, bundled: bool) -> list[str]:
    """Return the reference pages of at most `count` frontend tasks."""
    pages = (extract_page(task.hidden.reference) for task in _tasks("frontend", count, bundled))
    return [page for page in pages if page]


def _tasks(domain: str, count: int, bundled: bool) -> list[Task]:
    if bundled:
        return resolve_tasks(f"bundled:{domain}")[:count]
    return read_tasks(Path(os.environ[VARIABLE]) / f"{domain}.jsonl", limit=count)
