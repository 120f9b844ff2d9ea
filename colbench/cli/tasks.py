"""`colbench tasks`: list, show, check, write, export and describe tasks."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from colbench.cli import card, datasheet, export, synthesize, validate
from colbench.command import describe
from colbench.config_errors import did_you_mean
from colbench.errors import UserError
from colbench.flags import add_config_flags, add_source, read_source
from colbench.selection import find_tasks
from colbench.task import Task, row_from_task


def add_to(commands: Any) -> None:
    """Add the command `tasks` to the parser."""
    parser = commands.add_parser(
        "tasks",
        description=describe(__doc__),
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = _add(actions, "list", "list the tasks, one per line")
    showing = _add(actions, "show", "show a task with its hidden reference, tests and facts")
    showing.add_argument("id", metavar="ID", help="the task's id, from `colbench tasks list`")
    for action in (listing, showing):
        add_source(action)
    for module in (validate, synthesize, export, datasheet, card):
        module.add_to(actions)
    for action, function in ((listing, list_tasks), (showing, show_task)):
        add_config_flags(action, only=("tasks", "domain"))
        action.add_argument("--json", action="store_true", help="print JSON")
        action.set_defaults(run=function)


def _add(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=text, description=f"{describe(text)}."
    )
    return parser


def list_tasks(args: argparse.Namespace) -> int:
    """Print one line for each task (its id and the beginning of its request) or, with `--json`, a list of objects."""
    _, tasks = find_tasks(read_source(args))
    if args.json:
        fields = ("id", "family", "hash", "domain")
        _print_json([{name: getattr(task, name) for name in fields} for task in tasks])
        return 0
    for task in tasks:
        print(f"{task.id:<32} {' '.join(task.request.split())[:100]}")
    return 0


def show_task(args: argparse.Namespace) -> int:
    """Print one task with its hidden reference, tests and facts or, with `--json`, all of its data."""
    config, tasks = find_tasks(read_source(args))
    found = [task for task in tasks if task.id == args.id]
    if not found:
        advice = "`colbench tasks list` shows the IDs; for another source, pass SOURCE after the ID"
        hint = did_you_mean(args.id, [task.id for task in tasks], then=advice)
        raise UserError(f"{config.tasks} has no task `{args.id}`{hint}")
    if args.json:
        _print_json(row_from_task(found[0]))
    else:
        print(_readable(found[0]))
    return 0


def _readable(task: Task) -> str:
    parts = [f"{task.id}  ({task.domain}, {task.hash[:12]})", task.request, task.hidden.reference]
    parts.append("\n".join(task.hidden.tests))
    parts.append("\n".join(f"{fact.name}: {fact.statement}" for fact in task.hidden.facts))
    return "\n\n".join(part for part in parts if part)


def _print_json(value: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
