"""`colbench submit changes`: for whoever keeps a leaderboard: the entries that a pull request adds.

Prints a digest a line. Refuses a branch that does anything but add the files of new entries.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_to(actions: Any) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "changes", help="the entries that a pull request adds", description=__doc__
    )
    parser.add_argument("repository", metavar="DIR", help="a clone of the leaderboard's repository")
    parser.add_argument("--base", metavar="COMMIT", required=True, help="where it is to be merged")
    parser.add_argument("--head", metavar="COMMIT", default="HEAD", help="the newest commit of it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the digests."""
    from colbench_leaderboard.changes import new_entries

    print("\n".join(new_entries(Path(args.repository), args.base, args.head)))
    return 0
