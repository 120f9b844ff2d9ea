"""`colbench leaderboard`: keep a store of verified entries, prove that it is intact, and show it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe
from colbench.errors import DataError
from colbench.flags import names
from colbench_leaderboard.cli import audit, build, examples, sign
from colbench_leaderboard.cli.output import say, say_decision, say_objections, say_pending
from colbench_leaderboard.cli.verify import REFUSED, add_store_flags, verify_for_store

if TYPE_CHECKING:
    from colbench_leaderboard.store.layout import Record

EXAMPLES = examples.LEADERBOARD
MOVED = {
    "leaderboard refuse": "colbench leaderboard accept STORE BUNDLE --refuse REASON",
    "leaderboard serve": "colbench leaderboard build STORE --serve",
}
"""Old spellings of commands, each with the command line that replaces it."""


def add_to(commands: Any) -> None:
    """Add the command `leaderboard` and its actions to `commands`, the subcommands of `colbench`."""
    parser = commands.add_parser(
        "leaderboard", help="keep, audit and show a leaderboard", description=describe(__doc__)
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    decisions = (_add_accept, _add_keep, _add_remove, _add_rescore)
    for add in (_add_init, *decisions, sign.add_to, audit.add_to, build.add_to):
        add(actions)


def _add_init(actions: Any) -> None:
    parser = actions.add_parser(
        "init", help="create an empty store", description="Create an empty store."
    )
    parser.add_argument(
        "store", metavar="STORE", help="a new or empty folder, which may contain .git"
    )
    parser.add_argument(
        "--packages",
        metavar="NAME==VERSION,…",
        default="",
        help="packages that provide the domains, families or scorers of the entries; installed by the "
        "GitHub workflows of the store",
    )
    parser.add_argument(
        "--signers",
        metavar="FILE",
        help="an allowed-signers file of OpenSSH with a line for each keeper (maintainer): the name, a space, and the "
        "content of the keeper's .pub file; with this file, an audit requires signatures",
    )
    parser.set_defaults(run=init)


def _add_accept(actions: Any) -> None:
    parser = actions.add_parser(
        "accept",
        help="accept a bundle, or record why it is refused",
        description="Verify a bundle and accept it into a store, or record that it is refused.",
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder or a .tar.gz")
    parser.add_argument(
        "--verified",
        metavar="DIR",
        help="folder with the receipt written by `colbench verify`; default: verify the bundle now",
    )
    apart = parser.add_mutually_exclusive_group()
    apart.add_argument(
        "--refuse",
        metavar="REASON",
        help="record that the bundle is refused, with this reason, which is published",
    )
    apart.add_argument(
        "--reruns",
        metavar="DIGEST",
        help="digest of the entry whose system you ran yourself to make this bundle; the bundle is not "
        "ranked, and the entry gets level V3 if the results of the two agree",
    )
    apart.add_argument(
        "--reference-line",
        action="store_true",
        help="show the entry as an unranked reference line, such as `blank`",
    )
    sign.add_key_flag(parser)
    add_store_flags(parser)
    parser.set_defaults(run=accept)


def _add_keep(actions: Any) -> None:
    parser = _add_about_entry(
        actions,
        "keep",
        help="rank an entry despite its flags",
        description="Record that an entry is ranked despite its flags, with the reason; `remove` "
        "takes it off the board instead.",
    )
    parser.set_defaults(run=keep)


def _add_remove(actions: Any) -> None:
    parser = _add_about_entry(
        actions,
        "remove",
        help="remove an entry",
        description="Remove an entry from its board; its record and the reason stay in the log.",
    )
    parser.add_argument(
        "--delete",
        action="store_true",
        help="also delete the files of the bundle; this also works after the entry was removed",
    )
    parser.set_defaults(run=remove)


def _add_about_entry(actions: Any, name: str, **words: str) -> argparse.ArgumentParser:
    """Add an action that decides about one entry, and return the action's parser; `words`: the action's help texts."""
    parser: argparse.ArgumentParser = actions.add_parser(name, **words)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument(
        "bundle", metavar="DIGEST", help="digest of the bundle, or its first digits"
    )
    parser.add_argument("--reason", required=True, help="reason, which is published")
    sign.add_key_flag(parser)
    return parser


def _add_rescore(actions: Any) -> None:
    parser = actions.add_parser(
        "rescore",
        help="verify all entries again",
        description="Verify every current entry again after a change of the rules. Record each changed receipt in the "
        "log; entries that the new rules refuse are only reported.",
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("--reason", required=True, help="reason, which is published")
    parser.add_argument(
        "--only",
        metavar="DIGEST",
        help="verify only the bundle whose digest begins with these digits",
    )
    sign.add_key_flag(parser)
    add_store_flags(parser)
    parser.set_defaults(run=rescore)


def init(args: argparse.Namespace) -> int:
    """Create the store."""
    from colbench_leaderboard.store.git import FIRST_COMMIT
    from colbench_leaderboard.store.repository import make_store

    make_store(Path(args.store), names(args.packages), Path(args.signers) if args.signers else None)
    say(
        f"{args.store}: an empty store; add an entry with `colbench leaderboard accept "
        f"{args.store} BUNDLE`. To let `colbench submit push` add branches, run in the store's folder: {FIRST_COMMIT}"
    )
    return 0


def accept(args: argparse.Namespace) -> int:
    """Verify a bundle, and record that it is accepted or, with `--refuse`, refused. Return 1 if nothing is recorded."""
    from colbench_leaderboard.store.decisions import require_reason
    from colbench_leaderboard.store.lock import locked

    if args.refuse is not None:
        require_reason(args.refuse, "--refuse")
    sign.require_keeper(args)
    with locked(Path(args.store)):
        return _decide(args)


def _decide(args: argparse.Namespace) -> int:
    from colbench_leaderboard.store.decisions import require_compared
    from colbench_leaderboard.store.layout import bundle_folder
    from colbench_leaderboard.store.log import read_log

    store, bundle = Path(args.store), Path(args.bundle)
    decide = _accept if args.refuse is None else _refuse
    standing = [bundle_folder(store, each) for each in read_log(store).standing()]
    against = standing if args.refuse is None else []
    if args.verified:
        if args.refuse is None:
            require_compared(bundle, Path(args.verified), against)
        return decide(args, Path(args.verified))
    outcome = verify_for_store(args, bundle, against)
    with tempfile.TemporaryDirectory(prefix="colbench-accept-") as made:
        outcome.write(Path(made))
        if outcome.receipt.level is not None or args.refuse is not None:
            return decide(args, Path(made))
    say_objections(outcome.receipt)
    say("Nothing was recorded; use --refuse REASON to record a refusal.")
    return REFUSED


def _accept(args: argparse.Namespace, verified: Path) -> int:
    from colbench_leaderboard.store import decisions
    from colbench_leaderboard.store.entries import read_receipt
    from colbench_leaderboard.store.log import find, read_log

    store = Path(args.store)
    record = decisions.accept(
        store,
        Path(args.bundle),
        verified,
        reference_line=args.reference_line,
        reruns=find(read_log(store), args.reruns) if args.reruns else "",
    )
    receipt = read_receipt(store, record)
    say_objections(receipt)
    _conclude(args, record)
    if not (args.reference_line or args.reruns):  # reference lines and reruns are never ranked
        say_pending(args.store, receipt)
    return 0


def _refuse(args: argparse.Namespace, verified: Path) -> int:
    from colbench_leaderboard.store import decisions

    record = decisions.refuse(Path(args.store), Path(args.bundle), verified, args.refuse)
    _conclude(args, record)
    return 0


def _conclude(args: argparse.Namespace, record: Record) -> None:
    """Show the record of a decision; then sign the store, or print how to sign it (`sign.finish`)."""
    from colbench_leaderboard.store.log import read_log

    say_decision(record, read_log(Path(args.store)).head)
    sign.finish(args)


def keep(args: argparse.Namespace) -> int:
    """Record that an entry is ranked despite its flags."""
    from colbench_leaderboard.store import decisions
    from colbench_leaderboard.store.log import find, read_log

    store = Path(args.store)
    bundle = find(read_log(store), args.bundle)
    sign.require_keeper(args)
    _conclude(args, decisions.keep(store, bundle, args.reason))
    return 0


def remove(args: argparse.Namespace) -> int:
    """Record the removal of an entry."""
    from colbench_leaderboard.store import decisions
    from colbench_leaderboard.store.log import find, read_log

    store = Path(args.store)
    bundle = find(read_log(store), args.bundle)
    sign.require_keeper(args)
    _conclude(args, decisions.remove(store, bundle, args.reason, delete=args.delete))
    return 0


def rescore(args: argparse.Namespace) -> int:
    """Verify entries again, and record each receipt that changed. Returns 1 if the new rules refuse an entry."""
    from colbench_leaderboard.store.decisions import require_reason
    from colbench_leaderboard.store.lock import locked
    from colbench_leaderboard.store.log import find, read_log

    require_reason(args.reason)
    sign.require_keeper(args)
    with locked(Path(args.store)):
        log = read_log(Path(args.store))
        wanted = [find(log, args.only)] if args.only else list(log.standing())
        refused = [bundle for bundle in wanted if not _rescore(args, bundle)]
    sign.finish(args)
    for bundle in refused:
        say(
            f"{bundle}: refused by the new rules, but still on the board; remove it with "
            f"`colbench leaderboard remove {args.store} {bundle[:12]} --reason …`",
            "red",
        )
    return REFUSED if refused else 0


def _rescore(args: argparse.Namespace, bundle: str) -> bool:
    """Verify an entry again, and record the new scores if they changed. Return False if the entry is now refused."""
    from colbench_leaderboard.store import decisions
    from colbench_leaderboard.store.audit import verified_against
    from colbench_leaderboard.store.entries import read_receipt
    from colbench_leaderboard.store.layout import bundle_folder
    from colbench_leaderboard.store.log import read_log
    from colbench_leaderboard.verify.transcripts import of_deleted

    store = Path(args.store)
    record = read_log(store).standing().get(bundle)
    if record is None:
        raise DataError(f"bundle {bundle} is not a current entry of {store}")
    folder = bundle_folder(store, bundle)
    before = read_receipt(store, record)
    against, deleted = verified_against(store, before)
    outcome = verify_for_store(args, folder, against, of_deleted(before, deleted))
    if outcome.receipt.level is None:
        say_objections(outcome.receipt)
        return False
    with tempfile.TemporaryDirectory(prefix="colbench-rescore-") as made:
        outcome.write(Path(made))
        changed = decisions.rescore(store, bundle, Path(made), args.reason)
    if changed:
        log = read_log(store)
        say_decision(changed, log.head)
        last = log.accepted()[bundle]
        if not (last.reference_line or last.reruns):  # reference lines and reruns are never ranked
            say_pending(args.store, outcome.receipt)
    else:
        say(f"{bundle}: unchanged")
    return True
