"""`colbench leaderboard rescore`: verify every entry anew after a change of the rules; what changes is published."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from colbench.errors import DataError
from colbench_leaderboard.cli.leaderboard.output import say, say_decision
from colbench_leaderboard.cli.leaderboard.verifying import add_verifying_flags, verified

REFUSED = 1


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser("rescore", help="verify all anew", description=__doc__)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("--reason", required=True, help="in words; it is published")
    parser.add_argument("--only", metavar="DIGEST", help="one bundle, by how it begins")
    add_verifying_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Record new scores where there are any. Returns 1 if the new rules refuse an entry."""
    from colbench_leaderboard.accept import require_reason
    from colbench_leaderboard.log import find, read_log

    require_reason(args.reason)
    log = read_log(Path(args.store))
    wanted = [find(log, args.only)] if args.only else list(log.standing())
    refused = [bundle for bundle in wanted if not _rescore(args, bundle)]
    for bundle in refused:
        say(
            f"{bundle}: refused by the new rules, and still on the board; `remove` takes it off",
            "red",
        )
    return REFUSED if refused else 0


def _rescore(args: argparse.Namespace, bundle: str) -> bool:
    """Verify one entry anew; False where it is refused now."""
    from colbench_leaderboard.accept import rescore
    from colbench_leaderboard.log import read_log
    from colbench_leaderboard.rederive import verified_against
    from colbench_leaderboard.store import bundle_folder

    store = Path(args.store)
    record = read_log(store).standing().get(bundle)
    if record is None:
        raise DataError(f"bundle {bundle} does not stand in {store}")
    folder = bundle_folder(store, bundle)
    outcome = verified(args, folder, verified_against(store, record))
    if outcome.receipt.tier is None:
        return False
    with tempfile.TemporaryDirectory(prefix="colbench-rescore-") as made:
        outcome.write(Path(made))
        changed = rescore(store, bundle, Path(made), args.reason)
    if changed:
        say_decision(changed, read_log(store).head)
    else:
        say(f"{bundle}: the same")
    return True
