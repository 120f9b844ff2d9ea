"""`colbench repair`: make a damaged run folder usable again.

Invalid lines of `rollouts.jsonl` are moved to `rollouts.dropped.jsonl`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from colbench.command import describe, printable
from colbench.numbers import count
from colbench.repair import repair
from colbench.run_folder import RunFolder

SHOWN = 10
"""Maximum number of dropped lines to list."""


def add_to(commands: Any) -> None:
    """Add the command `repair` to the parser."""
    parser = commands.add_parser("repair", description=describe(__doc__))
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Repair the run folder, and print what was done."""
    folder = RunFolder(Path(args.folder))
    done = repair(folder)
    if args.json:
        sys.stdout.write(msgspec.json.encode(done, enc_hook=str).decode() + "\n")
        return 0
    dialogues = count(done.kept, "dialogue")
    if not done.dropped:
        print(f"{folder.rollouts_path}: nothing to repair, {dialogues}")
        return 0
    for line in done.dropped[:SHOWN]:
        print(printable(line))
    if len(done.dropped) > SHOWN:
        print(f"and {len(done.dropped) - SHOWN} more")
    print(f"{folder.rollouts_path}: kept {dialogues}; dropped lines are in {done.side_file}")
    return 0
