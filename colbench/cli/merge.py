"""`colbench merge`: combine the shards of a run, made with `colbench eval --shard I/N`, and report.

If dialogues are in no shard, or are unscored, the command shows how to run these dialogues, usually with `colbench
eval`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from colbench.command import describe, printable
from colbench.console import add_output_flags
from colbench.numbers import count

if TYPE_CHECKING:
    from colbench.merging import Merged
    from colbench.run_folder import RunRecord


def add_to(commands: Any) -> None:
    """Add the command `merge` to the parser."""
    parser = commands.add_parser("merge", description=describe(__doc__))
    parser.add_argument("folders", metavar="RUN", nargs="+", help="folder of a shard")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder of the merged run")
    parser.add_argument(
        "--force",
        action="store_true",
        help="merge shards whose versions or sandboxes differ, and list the differences",
    )
    add_output_flags(parser, document="the report")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Merge the shards, and show the report.

    Return 1 if a dialogue is missing or unscored, or if no dialogue of a domain is scored, else 0.
    """
    from colbench.cli.evaluate import exit_code
    from colbench.merging import merge
    from colbench.report.console import print_report

    merged = merge(args.folders, out=args.out, force=args.force)
    if args.json:
        sys.stdout.write((merged.path / "report.json").read_text("utf-8"))
    else:
        print_report(merged.report, merged.path, short=True)
    for note in notes(merged):
        print(f"colbench: {printable(note)}", file=sys.stderr)
    return exit_code(merged.report)


def notes(merged: Merged) -> list[str]:
    """Return the warnings about a merge, except warnings that are already in the report."""
    from colbench.cli.evaluate import is_unsettled

    found = [f"warning: the shards differ in {each}" for each in merged.differences]
    if merged.left_out:
        found.append(
            f"{count(merged.left_out, 'dialogue')} left out, because the settings of the run, such as --limit, do not "
            "select them"
        )
    if merged.missing:
        more = (
            f" and {merged.missing - len(merged.gaps):,} more"
            if merged.missing > len(merged.gaps)
            else ""
        )
        found.append(
            f"{merged.missing:,} of {count(merged.planned, 'dialogue')} are missing from all "
            f"shards: {', '.join(merged.gaps)}{more}. To run them:\n  {advice(merged)}"
        )
    elif is_unsettled(merged.report):
        found.append(f"some dialogues are unscored. To retry them:\n  {advice(merged)}")
    return found


def advice(merged: Merged) -> str:
    """Return how to run missing and retry unscored dialogues: a command line, a Python call, or instructions."""
    from colbench.flags import command_flags, is_given_by_flags
    from colbench.run_folder import RunFolder

    record, out = RunFolder(merged.path).record(), str(merged.path)
    if objects := objects_of(record):
        return f"call colbench.evaluate(…, out={out!r}) with the same {' and '.join(objects)}, and without `shard`"
    if is_given_by_flags(record.config):
        return shlex.join(["colbench", "eval", *command_flags(record.config), "--out", out])
    command = shlex.join(["colbench", "eval", "--config", "FILE.json", "--out", out])
    return (
        f"save `config` of {out}/run.json as FILE.json, because flags cannot give all of its values, and run:\n"
        f"  {command}"
    )


def objects_of(record: RunRecord) -> list[str]:
    """Return which of agent, human and tasks were given to the run as Python objects."""
    from colbench.agent_isolation import IN_PROCESS
    from colbench.selection import GIVEN

    config, pins = record.config, record.pins
    apart = pins["agent"]["process"] != IN_PROCESS
    given = {
        "agent": config.agent == pins["agent"]["class"] and not apart,
        "human": config.human == pins["human"]["class"],
        "tasks": config.tasks == GIVEN,
    }
    return [name for name, is_object in given.items() if is_object]
