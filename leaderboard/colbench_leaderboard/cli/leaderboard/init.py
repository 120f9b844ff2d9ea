"""`colbench leaderboard init`: begin an empty store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from colbench_leaderboard.cli.leaderboard.output import say


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("init", help="begin an empty store", description=__doc__)
    parser.add_argument("store", metavar="STORE", help="a new folder, or a fresh git repository")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the store."""
    from colbench_leaderboard.accept import make_store

    make_store(Path(args.store))
    say(
        f"{args.store}: an empty store; `colbench leaderboard accept {args.store} BUNDLE` takes an entry in"
    )
    return 0
