"""`colbench submit template`: a submission.toml to fill in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from colbench.errors import UserError


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "template", help="a submission.toml to fill in", description=__doc__
    )
    parser.add_argument("--out", metavar="FILE", help="write it there (default: print it)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print or write it."""
    from colbench_leaderboard.submission import template

    if args.out is None:
        sys.stdout.write(template())
        return 0
    write_new(Path(args.out), template(), "--out")
    return 0


def write_new(path: Path, text: str, flag: str) -> None:
    """Write a file that is not there yet. Raises UserError that names the flag."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as cause:
        raise UserError(f"{flag} {path}: cannot be written: {cause.strerror}") from cause
