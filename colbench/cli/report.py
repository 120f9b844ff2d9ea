"""`colbench report`: rebuild and show the report of a run; optionally upload its dialogues to the Hugging Face Hub."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.cli.export import add_hub_flags, check_hub_flags, uploading
from colbench.command import describe
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench.registry import require_mode
from colbench.report.baseline import load_others
from colbench.run_folder import RunFolder
from colbench.selection import recorded_tasks
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.report.baseline import Others
    from colbench.report.model import RunReport


def add_to(commands: Any) -> None:
    """Add the command `report` to the parser."""
    parser = commands.add_parser(
        "report",
        description=describe(__doc__),
    )
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "--json", action="store_true", help="print report.json instead of the table"
    )
    add_hub_flags(parser)
    add_config_flags(parser, only=("scoring", "baseline", "ceiling"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write report.json and report.html again, show the report, and upload the dialogues if asked to."""
    check_hub_flags(args)
    folder = RunFolder(Path(args.folder))
    record = folder.record()
    config = read_config(args, base=record.config)
    tasks = recorded_tasks(folder, record)
    for name in sorted({task.domain for task in tasks}):
        require_mode(name, config.scoring)
    others = load_others(config, tasks)
    write_and_show(folder, tasks, config, others, as_json=args.json)
    if args.push_to_hub:
        _push(folder, tasks, args)
    return 0


def _push(folder: RunFolder, tasks: list[Task], args: argparse.Namespace) -> None:
    from colbench.numbers import count
    from colbench.run import Run

    run = Run(folder, tasks=tasks)
    with uploading():
        place = run.push_to_hub(args.push_to_hub, private=args.private or None)
    print(f"{place}: {count(len(run.rollouts), 'dialogue')}", file=sys.stderr)


def write_and_show(
    folder: RunFolder,
    tasks: list[Task],
    config: RunConfig,
    others: Others | None = None,
    *,
    as_json: bool = False,
    short: bool = False,
) -> RunReport:
    """Write report.json and report.html, print the report, and return it.

    `others`: the runs with which the report compares this run. `as_json`: print report.json instead of the table.
    `short`: print only the most important facts (see `print_report`). If the folder cannot be written, the report is
    printed before UserError is raised.
    """
    from colbench.report import write
    from colbench.report.console import print_report

    draft = write.make_report(folder, tasks, config, others)
    unwritten = None
    try:
        write.write_draft(folder, draft)
    except UserError as error:
        unwritten = error
    if as_json:
        sys.stdout.write(write.as_json(draft.report).decode())
    else:
        print_report(draft.report, folder.path, short=short, written=not unwritten)
    if unwritten:
        raise unwritten
    return draft.report
