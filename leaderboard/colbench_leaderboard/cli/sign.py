"""`colbench leaderboard sign` and `head`: sign a store with a keeper's key, and print the head to publish."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from colbench.errors import UserError
from colbench_leaderboard.cli.output import say

SIGN = (
    "Sign the unsigned receipts of a store, and the hash of the last line of its log (the head), with a keeper's SSH "
    "key. The keepers' public keys are in STORE/signers."
)
HEAD = (
    "Print the head of a store's log: a few lines with the hash of the log's last line. In a signed store, print the "
    "last head that a keeper signed, and the keeper's signature. Publish these lines where the store's keepers "
    "cannot change them. `colbench leaderboard audit STORE --head FILE` then detects a log that was rewritten or "
    "truncated."
)


def add_to(actions: Any) -> None:
    """Add the actions `sign` and `head` to `actions`, the subcommands of `colbench leaderboard`."""
    parser = actions.add_parser("sign", help="sign receipts and log", description=SIGN)
    parser.add_argument("store", metavar="STORE")
    add_key_flag(parser, required=True)
    parser.set_defaults(run=sign)
    parser = actions.add_parser(
        "head", help="print the hash of the log's last line (the head)", description=HEAD
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("--out", metavar="FILE", help="write the head to a file instead")
    parser.set_defaults(run=head)


def add_key_flag(parser: Any, *, required: bool = False) -> None:
    """Add `--key`, the file of a keeper's SSH key."""
    parser.add_argument(
        "--key",
        metavar="FILE",
        required=required,
        help="a keeper's SSH key, such as ~/.ssh/id_ed25519, to sign the store with"
        + ("" if required else " after the decision"),
    )


def sign(args: argparse.Namespace) -> int:
    """Sign the unsigned receipts and the head of the log."""
    sign_with(Path(args.store), args.key)
    return 0


def sign_with(store: Path, key: str) -> None:
    """Sign a store with the key file `key`, and print which records the signature covers."""
    from colbench_leaderboard.store.signatures import sign_store

    signed = sign_store(store, Path(key).expanduser())
    say(f"signed   records 1 to {signed.records}")
    say(f"`colbench leaderboard head {store}` prints the head to publish.", "dim")


def require_keeper(args: argparse.Namespace) -> None:
    """Raise UserError or DataError if `--key` is given but cannot sign the store; to be called before a decision."""
    from colbench_leaderboard.store.signatures import require_keeper

    if args.key:
        require_keeper(Path(args.store), Path(args.key).expanduser())


def finish(args: argparse.Namespace) -> None:
    """Sign a store after a decision if `--key` is given; otherwise, if the store has keepers, print how to sign it."""
    from colbench_leaderboard.store.log import read_log
    from colbench_leaderboard.store.signatures import read_keepers, signed_records

    store = Path(args.store)
    if args.key:
        sign_with(store, args.key)
    elif read_keepers(store) and signed_records(store) < len(read_log(store).records):
        how = f"`colbench leaderboard sign {store} --key KEY` signs them"
        say(f"The last records of the log are not signed yet: {how}", "yellow")


def head(args: argparse.Namespace) -> int:
    """Print the last signed head or, in a store without signed heads, the log's head.

    With `--out`, write the head to a file instead.
    """
    from colbench.console import errors
    from colbench_leaderboard.store.log import read_log
    from colbench_leaderboard.store.signatures import newest_head

    store = Path(args.store)
    log = read_log(store)
    newest = newest_head(store, log)
    if args.out:
        _write(Path(args.out), newest.text)
    else:
        sys.stdout.write(newest.text)
    if not newest.signature:
        errors().print("This head is not signed, because the store has no signed head.")
    elif newest.records < len(log.records):
        first, last = newest.records + 1, len(log.records)
        left = f"Record {last} is" if first == last else f"Records {first} to {last} are"
        errors().print(f"{left} newer and unsigned; to sign, use `colbench leaderboard sign`.")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "ascii")
    except OSError as cause:
        raise UserError(f"--out {path}: cannot be written: {cause.strerror}") from cause
