"""`colbench leaderboard audit`: prove that a store is consistent with its log, or check what a branch adds."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.errors import UserError
from colbench_leaderboard.cli.output import progress, say, to_json
from colbench_leaderboard.cli.verify import add_store_flags, verify_for_store

if TYPE_CHECKING:
    from colbench_leaderboard.store.audit import Audit
    from colbench_leaderboard.verify.receipt import Finding

FAULTY = 1
"""Exit code for a store with faults."""


def add_to(actions: Any) -> None:
    """Add the action `audit` to `actions`, the subcommands of `colbench leaderboard`."""
    parser = actions.add_parser(
        "audit", help="prove that a store is intact", description=describe(__doc__)
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "--head",
        metavar="SHA256|FILE",
        help="the head (the hash of the log's last line) that you saved earlier, or a file written by "
        "`colbench leaderboard head`; the audit checks that the part of the log up to this head is unchanged",
    )
    parser.add_argument(
        "--signers",
        metavar="FILE",
        help="your own copy of the keepers' public keys (default: STORE/signers, which anyone "
        "with write access to the store can change)",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also verify the bundle of every current entry again; the results must equal the stored files, "
        "byte for byte",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--added-since",
        metavar="COMMIT",
        help="for pull requests: instead of auditing, print the digests of the entries that a branch adds since "
        "this commit; a branch that changes anything else is refused",
    )
    parser.add_argument(
        "--until",
        metavar="COMMIT",
        help="the last commit of the branch (default: the one checked out)",
    )
    add_store_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit a store and print the result. Returns 1 if the audit finds faults (see `Audit.faults`).

    With `--added-since`, print the digests of new entries instead.
    """
    if args.added_since is not None:
        return _print_new_entries(args)
    if args.until is not None:
        raise UserError("--until: requires --added-since COMMIT; add it, or leave out --until")
    found = _audit(args)
    if args.json:
        sys.stdout.write(to_json(found))
    else:
        _show(found, verified=args.verify)
    return FAULTY if found.faults else 0


def _print_new_entries(args: argparse.Namespace) -> int:
    from colbench_leaderboard.store.branches import new_entries

    if args.head is not None or args.signers or args.verify or args.json:
        raise UserError(
            "--added-since: cannot be combined with --head, --signers, --verify or --json; leave them out"
        )
    print("\n".join(new_entries(Path(args.store), args.added_since, args.until or "HEAD")))
    return 0


def _audit(args: argparse.Namespace) -> Audit:
    from colbench_leaderboard.store.audit import audit

    head = _head(args)
    signers = Path(args.signers) if args.signers else None

    def verifier(
        bundle: Path, against: list[Path], carried: tuple[Finding, ...], out: Path
    ) -> None:
        verify_for_store(args, bundle, against, carried).write(out)

    store = Path(args.store)
    if args.verify:
        return audit(store, head=head, signers=signers, verifier=verifier)
    with progress() as seen:
        return audit(store, head=head, signers=signers, seen=seen)


def _head(args: argparse.Namespace) -> str | None:
    """Return the hash that `--head` gives directly or in a file; None without `--head`.

    Raises UserError if `--head` is neither a hash nor a file. Raises DataError if the head in a file
    is not in the log or, in a store with keepers, is not signed by a keeper.
    """
    from colbench_leaderboard.store.heads import read_head, require_head, require_signed
    from colbench_leaderboard.store.log import read_log
    from colbench_leaderboard.store.signatures import read_keepers

    if args.head is None or re.fullmatch("[0-9a-f]{64}", args.head):
        return str(args.head) if args.head else None
    file, store = Path(args.head), Path(args.store)
    if not file.is_file():
        raise UserError(
            "--head: expected a file, or the 64 hexadecimal digits that commands print after `head`, "
            f"got {args.head}"
        )
    head = read_head(file)
    require_head(read_log(store), head, args.head)
    keepers = read_keepers(store, Path(args.signers) if args.signers else None)
    if keepers:
        require_signed(head, keepers, args.head)
    return head.head


def _show(found: Audit, *, verified: bool) -> None:
    from colbench.numbers import count

    for fault in found.faults:
        say(fault, "red")
    again = f", {found.verified} verified again with the same result" if verified else ""
    say(
        f"{count(found.records, 'record')}, "
        f"{count(found.standing, 'current entry', 'current entries')}{again}, "
        f"{count(len(found.faults), 'fault')}"
    )
    say(f"head     {found.head}", "dim")
    say(f"signed   {_signed(found)}", "dim")
    if not verified:
        say("Every hash was checked; --verify recomputes every number from the transcripts.", "dim")


def _signed(found: Audit) -> str:
    if found.signed:
        return f"records 1 to {found.signed}, by {', '.join(found.keepers)}"
    return "no; see docs/leaderboard-store.md for signing a store"
