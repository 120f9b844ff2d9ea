"""`colbench leaderboard`: keep a store of verified entries, prove that it is whole, and show it."""

from __future__ import annotations

from typing import Any

from colbench_leaderboard.cli.leaderboard import (
    accept,
    audit,
    build,
    init,
    refuse,
    remove,
    rescore,
    serve,
)

ACTIONS = (init, accept, refuse, remove, rescore, audit, build, serve)


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser(
        "leaderboard", help="keep, audit and show a leaderboard", description=__doc__
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in ACTIONS:
        action.add_to(actions)
