"""`colbench leaderboard refuse`: record that a bundle is not taken in, and why."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from colbench_leaderboard.cli.leaderboard.output import say_decision
from colbench_leaderboard.cli.leaderboard.verifying import add_verifying_flags, verified


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("refuse", help="record why not", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument("--reason", required=True, help="in words; it is published")
    parser.add_argument(
        "--verified", metavar="DIR", help="what `colbench verify` found of it, if it was run before"
    )
    add_verifying_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Record the refusal with what was found."""
    from colbench_leaderboard.accept import refuse, require_reason
    from colbench_leaderboard.log import read_log

    require_reason(args.reason)
    store = Path(args.store)
    with tempfile.TemporaryDirectory(prefix="colbench-refuse-") as made:
        folder = Path(args.verified or made)
        if not args.verified:
            read_log(store)
            verified(args, Path(args.bundle), []).write(folder)
        record = refuse(store, folder, args.reason)
    say_decision(record, read_log(store).head)
    return 0
