"""Which tasks of a source a run is about."""

from __future__ import annotations

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.task import Task


def find_tasks(
    config: RunConfig, malformed: list[str] | None = None
) -> tuple[RunConfig, list[Task]]:
    """The configuration with its task source, the bundled one where none is named, and the tasks selected there.

    `malformed`: see `resolve_tasks`.
    """
    from colbench.plugins import resolve_tasks

    config = replace(config, tasks=config.tasks or f"bundled:{config.domain or 'backend'}")
    return config, select(resolve_tasks(config.tasks, malformed), config)


def select(tasks: list[Task], config: RunConfig) -> list[Task]:
    """The tasks that `--domain`, `--task-ids` and `--limit` leave. Raises UserError if one named is not there."""
    if config.domain:
        tasks = [task for task in tasks if task.domain == config.domain]
        if not tasks:
            raise UserError(f"--domain {config.domain}: {config.tasks} has no such task")
    if config.task_ids:
        by_id = {task.id: task for task in tasks}
        unknown = [name for name in config.task_ids if name not in by_id]
        if unknown:
            raise UserError(
                f"--task-ids: {config.tasks} has no {', '.join(unknown)}; `colbench tasks list` shows the ids"
            )
        tasks = [by_id[name] for name in dict.fromkeys(config.task_ids)]
    return tasks[: config.limit]
