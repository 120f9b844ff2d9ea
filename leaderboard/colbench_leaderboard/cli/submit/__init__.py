"""`colbench submit`: make an entry for a leaderboard from a run: its transcripts, and no score."""

from __future__ import annotations

from typing import Any

from colbench_leaderboard.cli.moved import add_moved
from colbench_leaderboard.cli.submit import pack, push


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser(
        "submit", help="pack, push: enter a leaderboard", description=__doc__
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (pack, push):
        action.add_to(actions)
    add_moved("submit", actions)
