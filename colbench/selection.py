"""The tasks of a run: the source of tasks, and the selection from this source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

from msgspec import json
from msgspec.structs import replace

from colbench.config import RunConfig, digest
from colbench.config_errors import did_you_mean
from colbench.errors import DataError, UserError
from colbench.plugins import NO_LINES, resolve_tasks
from colbench.registry import domain_names, get_domain, unknown_domain
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.task import BACKEND, Task, distinguish, row_from_task, task_from_row, task_lines

GIVEN = "given"
"""Task source recorded for a run whose tasks were given as objects; the tasks are kept in the run's folder."""


def find_tasks(
    config: RunConfig, malformed: list[str] | None = None
) -> tuple[RunConfig, list[Task]]:
    """Return the configuration and its selected tasks. A missing task source is replaced by the domain's default.

    `malformed`: see `resolve_tasks`. Raises UserError if the source, a task or the domain does not exist. Raises
    DataError if a row is malformed, or if the domain of a selected task is not installed.
    """
    if config.domain and config.domain not in domain_names():
        known = domain_names()
        hint = did_you_mean(config.domain, known, then=f"installed: {', '.join(known)}")
        raise UserError(f"--domain {config.domain}: unknown{hint}")
    if not config.tasks:
        tasks = get_domain(config.domain or BACKEND).defaults.tasks
        config = replace(config, tasks=tasks)
    selected = select(resolve_tasks(config.tasks, malformed), config)
    return config, _of_installed_domains(selected, config.tasks, malformed)


def lines_of(source: str) -> dict[str, int]:
    """Return the line number of each task, by task ID; an empty dict if the source is not a file of JSON lines."""
    path = Path(source).expanduser()
    return task_lines(path) if path.is_file() and path.suffix not in NO_LINES else {}


def _of_installed_domains(
    tasks: list[Task], source: str, malformed: list[str] | None
) -> list[Task]:
    """Return the tasks whose domain is installed; rows of other tasks count as malformed (see `resolve_tasks`)."""
    known = set(domain_names())
    unknown = [task for task in tasks if task.domain not in known]
    if not unknown:
        return tasks
    lines = lines_of(source)
    flaws = [
        f"{source}, {f'line {lines[task.id]}' if lines else f'task {task.id}'}: {unknown_domain(task.domain)}"
        for task in unknown
    ]
    if malformed is None or len(unknown) == len(tasks):
        raise DataError(flaws[0])
    malformed += flaws
    return [task for task in tasks if task.domain in known]


def load_tasks(source: str, *, limit: int | None = None) -> list[Task]:
    """Return the tasks of a source such as `bundled:backend`, `official:backend/test` or a task file.

    Raises UserError if the source does not exist, DataError if a row is malformed.
    """
    return resolve_tasks(source)[:limit]


def require_tasks(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks given as objects, with unique ids.

    Raises UserError if `tasks` is empty or contains anything that is not a task. Raises DataError, which names the
    task, if a task has no id or could not be read back from a file.
    """
    listed = list(tasks) if isinstance(tasks, Iterable) else [tasks]
    wrong = [repr(each) for each in listed if not isinstance(each, Task)]
    if wrong or not listed:
        raise UserError(
            "tasks: expected a source, such as 'bundled:backend', or a list of tasks, such as the result of "
            f"colbench.load_tasks(...); got {wrong[0] if wrong else 'an empty list'}"
        )
    for number, task in enumerate(listed):
        if not task.id:
            raise DataError(f"tasks[{number}]: `id` is empty")
        try:
            task_from_row(json.decode(json.encode(row_from_task(task))))
        except (DataError, UnicodeEncodeError) as cause:
            raise DataError(f"tasks: `{ascii(task.id)[1:-1]}`: {cause}") from cause
    return distinguish(listed)


def select(tasks: list[Task], config: RunConfig) -> list[Task]:
    """Return the tasks selected by `--domain`, `--task-ids` and `--limit`.

    Raises UserError if one of the `--task-ids` is missing, if the domain is not installed, or if no task belongs to the
    domain.
    """
    given = config.tasks in ("", GIVEN)
    source = "the list of tasks" if given else config.tasks
    if config.domain:
        get_domain(config.domain)
        tasks = [task for task in tasks if task.domain == config.domain]
        if not tasks:
            raise UserError(f"--domain {config.domain}: {source} has no task of this domain")
    if config.task_ids:
        by_id = {task.id: task for task in tasks}
        unknown = [name for name in config.task_ids if name not in by_id]
        if unknown:
            advice = "" if given else f"`colbench tasks list {quote(source)}` shows the IDs"
            hint = did_you_mean(unknown[0], by_id, then=advice)
            raise UserError(f"--task-ids: {source} has no {', '.join(unknown)}{hint}")
        tasks = [by_id[name] for name in dict.fromkeys(config.task_ids)]
    return tasks[: config.limit]


def task_source(source: str, tasks: list[Task]) -> TaskSource:
    """Return the part of a run's record that describes its tasks."""
    path = Path(source).expanduser()
    file = str(path.absolute()) if path.is_file() else ""
    return TaskSource(source=source, file=file, count=len(tasks), hash=_hash(tasks))


def recorded_tasks(folder: RunFolder, record: RunRecord) -> list[Task]:
    """Load the tasks of a run again, from their source or, for tasks given as objects, from the run's folder.

    Raises UserError if the source is missing, DataError if the tasks have changed since the run.
    """
    tasks = select(resolve_tasks(source_of(folder, record)), record.config)
    if _hash(tasks) != record.tasks.hash:
        raise DataError(
            f"{record.config.tasks}: the tasks have changed since the run; restore them, or use "
            f"ColBench {record.colbench}, with which the run was made"
        )
    return tasks


def source_of(folder: RunFolder, record: RunRecord) -> str:
    """Return the source from which the tasks of a run can be loaded again.

    For tasks given as objects, the source is the copy in the run's folder. For a file, the source is the recorded
    absolute path if it exists, else the given path. Raises UserError if none of these files exists.
    """
    given = record.config.tasks
    place = str(folder.tasks_path) if given == GIVEN else record.tasks.file
    if not place or Path(place).exists():
        return place or given
    if given != GIVEN and Path(given).expanduser().exists():
        return given
    copy = Path(given).expanduser()
    at = f"{copy}" if copy.is_absolute() else f"{copy} in the current folder"
    other = "" if given in (GIVEN, place) else f", or put a copy at {at}"
    raise UserError(f"{folder.path}: the run's task file {place} does not exist; restore it{other}")


def _hash(tasks: list[Task]) -> str:
    return digest([[task.id, task.hash] for task in tasks])
