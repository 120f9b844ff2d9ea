"""Verifying a bundle for a store, always in the same way, so that an audit finds the same receipt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.config import RunConfig
from colbench.errors import DataError
from colbench.flags import add_config_flags, read_config

if TYPE_CHECKING:
    from colbench_leaderboard.verify.outcome import Outcome


def add_verifying_flags(parser: Any) -> None:
    """Add the flags that say with what is verified."""
    from colbench_leaderboard.cli.verify import FLAGS

    parser.add_argument(
        "--tasks",
        metavar="SOURCE",
        help="your own tasks, for bundles about such as do not come with ColBench",
    )
    add_config_flags(parser, only=FLAGS)


def verified(args: argparse.Namespace, bundle: Path, against: Sequence[Path]) -> Outcome:
    """What a bundle is worth: every human asked again, transcripts compared with those of the bundles `against`.

    Raises DataError where it cannot be read.
    """
    from colbench_leaderboard.archive import Refused, read_bundle
    from colbench_leaderboard.cli import receipts
    from colbench_leaderboard.cli.verify import own_tasks
    from colbench_leaderboard.tracks import OWN
    from colbench_leaderboard.verify.verification import Settings, verify

    equipment = read_config(args, base=RunConfig())
    settings = Settings(equipment=equipment, replay=1.0, against=tuple(against))
    try:
        with read_bundle(bundle) as found, receipts.progress() as seen:
            source = None if found.lock.tasks.source in OWN else args.tasks
            return verify(found, own_tasks(found, source), settings, seen)
    except Refused as refused:
        raise DataError(f"{bundle}: {refused}") from refused
