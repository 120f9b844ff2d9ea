"""`colbench leaderboard audit`: prove that a store follows from its log, or check what a branch adds to it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.errors import UserError
from colbench_leaderboard.cli.output import progress, say, to_json
from colbench_leaderboard.cli.verify import add_store_flags, verify_for_store

if TYPE_CHECKING:
    from colbench_leaderboard.store.audit import Audit

FAULTY = 1
"""Exit code."""


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("audit", help="prove that a store is intact", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--head",
        metavar="SHA256",
        help="the log's head as you noted it earlier: it must still be there",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="verify every bundle again as well, and compare the receipts byte for byte",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--added-since",
        metavar="COMMIT",
        help="instead, print the digests of the entries that a branch adds since a commit, and refuse one that does "
        "anything else; for pull requests",
    )
    parser.add_argument(
        "--until",
        metavar="COMMIT",
        help="the last commit of the branch (default: the one checked out)",
    )
    add_store_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit, and print the result. Returns 1 if anything deviates from the log."""
    if args.added_since is not None:
        return _print_new_entries(args)
    if args.until is not None:
        raise UserError("--until: needs --added-since COMMIT")
    found = _audit(args)
    if args.json:
        sys.stdout.write(to_json(found))
    else:
        _show(found, verified=args.verify)
    return FAULTY if found.faults else 0


def _print_new_entries(args: argparse.Namespace) -> int:
    from colbench_leaderboard.store.branches import new_entries

    if args.head is not None or args.verify or args.json:
        raise UserError("--added-since: goes without --head, --verify and --json")
    print("\n".join(new_entries(Path(args.store), args.added_since, args.until or "HEAD")))
    return 0


def _audit(args: argparse.Namespace) -> Audit:
    from colbench_leaderboard.store.audit import audit

    if args.head is not None and not re.fullmatch("[0-9a-f]{64}", args.head):
        raise UserError(
            f"--head: expected 64 hexadecimal digits, as every command prints them after `head`; given: {args.head}"
        )

    def verifier(bundle: Path, against: list[Path], out: Path) -> None:
        verify_for_store(args, bundle, against).write(out)

    store = Path(args.store)
    if args.verify:
        return audit(store, head=args.head, verifier=verifier)
    with progress() as seen:
        return audit(store, head=args.head, seen=seen)


def _show(found: Audit, *, verified: bool) -> None:
    from colbench.numbers import count

    for fault in found.faults:
        say(fault, "red")
    again = f", {found.verified} verified again and the same" if verified else ""
    say(
        f"{count(found.records, 'record')}, "
        f"{count(found.standing, 'entry that stands', 'entries that stand')}{again}, "
        f"{count(len(found.faults), 'fault')}"
    )
    say(f"head     {found.head}", "dim")
    if not verified:
        say("Every hash was checked; --verify recomputes every number from the transcripts.", "dim")
