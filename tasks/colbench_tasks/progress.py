"""A progress bar on the terminal while many tasks are made."""

from __future__ import annotations

from collections.abc import Iterable

from colbench.task import Task

MANY = 500


def shown(tasks: Iterable[Task], number: int, source: str) -> Iterable[Task]:
    """Yield the tasks.

    If there are more than `MANY` tasks and standard error is a terminal, show a progress bar that names the source.
    """
    if number <= MANY:
        return tasks
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(
        tasks,
        f"Making {source}",
        total=number,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
