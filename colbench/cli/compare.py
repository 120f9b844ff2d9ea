"""`colbench compare`: compare runs on the same tasks, by task and trial."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.cli.files import add_overwrite, written_whole
from colbench.command import describe
from colbench.errors import DataError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colbench.comparison.model import Comparison
    from colbench.run import Run


def add_to(commands: Any) -> None:
    """Add the command `compare` to the parser."""
    parser = commands.add_parser("compare", description=describe(__doc__))
    parser.add_argument(
        "folders",
        metavar="RUN",
        nargs="+",
        help="a run's folder, or a folder that contains the folders of runs; at least two runs",
    )
    parser.add_argument(
        "--scoring", metavar="MODE", default="default", help="scoring mode (default: default)"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="compare runs that differ in more than agent and tasks, and list the differences",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page that shows, side by side, the dialogues of the tasks on which the runs differ",
    )
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the runs; write the page if `--html` is given, and print the tables or the JSON."""
    from colbench.comparison.compare import compare

    runs = [run for given in args.folders for run in _runs(Path(given))]
    given = " ".join(args.folders)
    if len(runs) < 2:
        raise UserError(f"{given}: nothing to compare; pass two runs or more that have dialogues")
    if len({each.path.resolve() for each in runs}) < len(runs):
        raise UserError(f"{given}: the same run is given twice; pass different runs")
    found = compare(*runs, force=args.force, scoring=args.scoring)
    if args.html:
        write_page(found, runs, Path(args.html), overwrite=args.overwrite)
    show(found, as_json=args.json)
    return 0


def _runs(given: Path) -> list[Run]:
    """Return the run in the folder `given` or, if `given` is a folder of runs, these runs in order of name.

    Runs in a folder of runs are left out, with a warning, if they have no dialogues or if their `run.json` is damaged.

    Raises UserError if `given` is a file. Raises DataError if `given` contains no run, or if it is itself a run and its
    `run.json` is damaged.
    """
    from colbench.run import load_run

    if given.is_file():
        raise UserError(
            f"{given} is a file; pass the folders of runs, or one folder that contains them, such as {given.parent}"
        )
    found = sorted(record.parent for record in given.glob("*/run.json"))
    if (given / "run.json").exists() or not found:
        return [load_run(given)]
    return [run for folder in found if (run := _comparable(folder))]


def _comparable(folder: Path) -> Run | None:
    """Return the run in a folder; if it is damaged or has no dialogues, print a warning and return None."""
    from colbench.run import load_run

    try:
        run = load_run(folder)
    except DataError as error:
        print(f"Warning: left out: {error}", file=sys.stderr)
        return None
    if not run.stats:
        print(f"Warning: left out, no dialogues: {run.path}", file=sys.stderr)
        return None
    return run


def show(comparison: Comparison, *, as_json: bool = False) -> None:
    """Print a comparison as text or JSON."""
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode())
        return
    from colbench.comparison.console import print_comparison

    print_comparison(comparison)


def write_page(comparison: Comparison, runs: Sequence[Run], path: Path, *, overwrite: bool) -> None:
    """Write the page of a comparison and say where it is."""
    from colbench.comparison.page import render_page
    from colbench.console import errors

    with written_whole(path, overwrite=overwrite, flag="--html") as part:
        part.write_text(render_page(comparison, runs), "utf-8")
    errors().print(f"Page: {path}", highlight=False, markup=False, soft_wrap=True)
