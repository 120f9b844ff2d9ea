"""`colbench leaderboard remove`: take an entry off the board; the record of it, and of why, stays."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from colbench_leaderboard.cli.leaderboard.output import say_decision


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("remove", help="take an entry off", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("bundle", metavar="DIGEST", help="of the bundle, or how it begins")
    parser.add_argument("--reason", required=True, help="in words; it is published")
    parser.add_argument(
        "--delete", action="store_true", help="delete the bundle's files, not only the entry"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Record the removal."""
    from colbench_leaderboard.accept import remove
    from colbench_leaderboard.log import find, read_log

    store = Path(args.store)
    bundle = find(read_log(store), args.bundle)
    record = remove(store, bundle, args.reason, delete=args.delete)
    say_decision(record, read_log(store).head)
    return 0
