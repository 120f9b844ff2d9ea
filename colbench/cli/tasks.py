"""`colbench tasks`: look at tasks; check, write, export and describe task files."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from colbench.cli import datasheet, export, synthesize
from colbench.cli.validate import add_flags
from colbench.cli.validate import run as validate
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench.selection import find_tasks
from colbench.task import Task, row_from_task


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "tasks", help="list, show, validate, synthesize, export, datasheet", description=__doc__
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="one line for each task")
    showing = actions.add_parser("show", help="one task, with what is hidden")
    showing.add_argument("id", metavar="ID")
    checking = actions.add_parser("validate", help="check a source: every reference must score 1")
    checking.add_argument("source", metavar="SOURCE", nargs="?", help="the same as --tasks SOURCE")
    add_flags(checking)
    checking.set_defaults(run=check_tasks)
    synthesize.add_to(actions)
    export.add_to(actions)
    datasheet.add_to(actions)
    for action, function in ((listing, list_tasks), (showing, show_task)):
        add_config_flags(action, only=("tasks", "domain"))
        action.add_argument("--json", action="store_true", help="print JSON")
        action.set_defaults(run=function)


def list_tasks(args: argparse.Namespace) -> int:
    """Print one line for each task: id, first words of the request."""
    _, tasks = find_tasks(read_config(args, base=RunConfig()))
    for task in tasks:
        if args.json:
            _print_json(
                {"id": task.id, "family": task.family, "hash": task.hash, "domain": task.domain}
            )
        else:
            print(f"{task.id:<32} {' '.join(task.request.split())[:100]}")
    return 0


def show_task(args: argparse.Namespace) -> int:
    """Print one task with everything that is hidden."""
    config, tasks = find_tasks(read_config(args, base=RunConfig()))
    found = [task for task in tasks if task.id == args.id]
    if not found:
        raise UserError(
            f"{config.tasks} has no task `{args.id}`; `colbench tasks list` shows the ids, --tasks names another source"
        )
    if args.json:
        _print_json(row_from_task(found[0]))
    else:
        print(_readable(found[0]))
    return 0


def check_tasks(args: argparse.Namespace) -> int:
    """The same as `colbench validate --tasks SOURCE`."""
    args.tasks = args.source or args.tasks
    return validate(args)


def _readable(task: Task) -> str:
    parts = [f"{task.id}  ({task.domain}, {task.hash[:12]})", task.request, task.hidden.reference]
    parts.append("\n".join(task.hidden.tests))
    parts.append("\n".join(f"{fact.name}: {fact.statement}" for fact in task.hidden.facts))
    return "\n\n".join(part for part in parts if part)


def _print_json(value: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
