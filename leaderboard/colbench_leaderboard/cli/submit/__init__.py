"""`colbench submit`: from a run to an entry of a leaderboard; what is sent holds transcripts and no score."""

from __future__ import annotations

from typing import Any

from colbench_leaderboard.cli.submit import changes, pack, push, template

ACTIONS = (template, pack, push, changes)


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser(
        "submit", help="template, pack, push: enter a leaderboard", description=__doc__
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in ACTIONS:
        action.add_to(actions)
