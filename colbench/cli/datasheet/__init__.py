"""`colbench tasks datasheet`: describe a task set, as Markdown.

The datasheet gives the origin, license, size and hash of the set. It also gives statistics, the number of
near-duplicates, and flaws found by running the references. For tasks of known families, it adds the success of guessing
and of asking, and how well the rule-based human replies. All numbers are measured each time.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from colbench.cli.files import add_overwrite, written_whole
from colbench.command import describe
from colbench.errors import UserError
from colbench.flags import add_config_flags, add_source, read_source

FLAGS = (
    "tasks",
    "domain",
    "limit",
    "sandbox_workers",
    "sandbox_tier",
    "allow_unsafe_sandbox",
    "browser",
    "browser_workers",
)
SAMPLE = 1000


def add_to(actions: Any) -> None:
    """Add the command `tasks datasheet` to the parser."""
    parser = actions.add_parser(
        "datasheet",
        help="describe a source: origin, license, statistics, flaws",
        description=describe(__doc__),
    )
    add_source(parser)
    parser.add_argument("--out", metavar="FILE", help="the file to write (default: print it)")
    parser.add_argument(
        "--license",
        metavar="TEXT",
        help="license of the tasks; required for a task file (default: as the source states)",
    )
    parser.add_argument(
        "--origin",
        metavar="TEXT",
        help="who made the tasks, and how (default: as the source states)",
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        default=str(SAMPLE),
        help="maximum number of tasks to play and, in frontend design, of pages to render; 0: none "
        f"(default: {SAMPLE})",
    )
    add_overwrite(parser)
    add_config_flags(parser, only=FLAGS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure the task set, and write or print its datasheet."""
    if not args.sample.isdecimal():
        raise UserError(f"--sample {args.sample}: expected a whole number of at least 0")
    if args.out is None:
        sys.stdout.write(_sheet(args))
        return 0
    path = Path(args.out).expanduser()
    with written_whole(path, overwrite=args.overwrite) as part:
        part.write_text(_sheet(args), "utf-8")
    print(path, file=sys.stderr)
    return 0


def _sheet(args: argparse.Namespace) -> str:
    from colbench.cli.datasheet.measure import measure
    from colbench.cli.datasheet.origin import find_origin
    from colbench.cli.datasheet.sheet import markdown
    from colbench.selection import find_tasks

    malformed: list[str] = []
    config, tasks = find_tasks(read_source(args), malformed)
    origin = find_origin(config.tasks, args.license, args.origin)
    measured = asyncio.run(measure(tasks, config, int(args.sample), len(malformed)))
    selection = _flags({"--domain": config.domain, "--limit": config.limit})
    sample = args.sample if int(args.sample) != SAMPLE else None
    further = _flags({"--sample": sample, "--license": args.license, "--origin": args.origin})
    return markdown(config.tasks, origin, measured, selection, further)


def _flags(values: Mapping[str, Any]) -> str:
    """Return the flags that are set, as on a command line."""
    return " ".join(f"{flag} {shlex.quote(str(each))}" for flag, each in values.items() if each)
