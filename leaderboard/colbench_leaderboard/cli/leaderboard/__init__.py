"""`colbench leaderboard`: keep a store of verified entries, prove that it is intact, and show it."""

from __future__ import annotations

from typing import Any

from colbench_leaderboard.cli.leaderboard import audit, build, keep
from colbench_leaderboard.cli.moved import add_moved


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser(
        "leaderboard", help="keep, audit and show a leaderboard", description=__doc__
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (keep, audit, build):
        action.add_to(actions)
    add_moved("leaderboard", actions)
