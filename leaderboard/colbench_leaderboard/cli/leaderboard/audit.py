"""`colbench leaderboard audit`: prove that a store is what its log says, from the first line on."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError
from colbench_leaderboard.cli.leaderboard.output import say
from colbench_leaderboard.cli.leaderboard.verifying import add_verifying_flags, verified

if TYPE_CHECKING:
    from colbench_leaderboard.rederive import Audit

FAULTY = 1


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("audit", help="prove that a store is whole", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--head",
        metavar="SHA256",
        help="the log's head as you noted it earlier: it must still be there",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="verify every bundle anew as well, and compare the receipts byte for byte",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_verifying_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit and say what was found. Returns 1 if anything is not as the log says."""
    import msgspec

    from colbench_leaderboard.cli.receipts import progress
    from colbench_leaderboard.rederive import audit

    if args.head is not None and not re.fullmatch("[0-9a-f]{64}", args.head):
        raise UserError(
            f"--head: expected 64 hexadecimal digits, as every command prints them behind `head`; given: {args.head}"
        )

    def verifier(bundle: Path, against: list[Path], out: Path) -> None:
        verified(args, bundle, against).write(out)

    store = Path(args.store)
    if args.verify:
        found = audit(store, head=args.head, verifier=verifier)
    else:
        with progress() as seen:
            found = audit(store, head=args.head, seen=seen)
    if args.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        _show(found, args)
    return FAULTY if found.faults else 0


def _show(found: Audit, args: argparse.Namespace) -> None:
    from colbench.numbers import count

    for fault in found.faults:
        say(fault, "red")
    anew = f", {found.verified} verified anew and the same" if args.verify else ""
    say(
        f"{count(found.records, 'record')}, "
        f"{count(found.standing, 'entry that stands', 'entries that stand')}{anew}, "
        f"{count(len(found.faults), 'fault')}"
    )
    say(f"head     {found.head}", "dim")
    if not args.verify:
        say("Every hash was checked; --verify recomputes every number from the transcripts.", "dim")
