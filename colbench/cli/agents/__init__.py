"""`colbench agents`: list the agents that `--agent` knows, describe or check one, or start your own."""

from __future__ import annotations

from typing import Any

from colbench.cli.agents import check, new, show
from colbench.cli.agents import list as listing
from colbench.command import describe

ACTIONS = (listing, show, check, new)


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser("agents", description=describe(__doc__))
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in ACTIONS:
        action.add_to(actions)
