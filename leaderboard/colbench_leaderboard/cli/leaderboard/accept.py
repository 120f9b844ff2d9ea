"""`colbench leaderboard accept`: verify a bundle and take it into a store."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from colbench_leaderboard.cli.leaderboard.output import say, say_decision, say_receipt
from colbench_leaderboard.cli.leaderboard.verifying import add_verifying_flags, verified

REFUSED = 1


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("accept", help="take a bundle in", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument(
        "--verified",
        metavar="DIR",
        help="what `colbench verify` found of it; without this it is verified now",
    )
    apart = parser.add_mutually_exclusive_group()
    apart.add_argument(
        "--reruns",
        metavar="DIGEST",
        help="the entry whose system you ran yourself for this bundle: it is not ranked, and that entry becomes T3",
    )
    apart.add_argument(
        "--reference-line",
        action="store_true",
        help="show it as a line to compare with, such as `blank`, outside the ranks",
    )
    add_verifying_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify and accept. Returns 1 if the bundle is refused."""
    if args.verified:
        return _accept(args, Path(args.verified))
    from colbench_leaderboard.log import read_log
    from colbench_leaderboard.store import bundle_folder

    store = Path(args.store)
    standing = read_log(store).standing()
    outcome = verified(args, Path(args.bundle), [bundle_folder(store, each) for each in standing])
    with tempfile.TemporaryDirectory(prefix="colbench-accept-") as made:
        outcome.write(Path(made))
        if outcome.receipt.tier is not None:
            return _accept(args, Path(made))
    say_receipt(outcome.receipt)
    say("Nothing was recorded; `colbench leaderboard refuse` does that.")
    return REFUSED


def _accept(args: argparse.Namespace, verified: Path) -> int:
    from colbench_leaderboard.accept import accept
    from colbench_leaderboard.entries import read_receipt
    from colbench_leaderboard.log import find, read_log

    store = Path(args.store)
    record = accept(
        store,
        Path(args.bundle),
        verified,
        reference_line=args.reference_line,
        reruns=find(read_log(store), args.reruns) if args.reruns else "",
    )
    say_receipt(read_receipt(store, record))
    say_decision(record, read_log(store).head)
    return 0
