"""`colbench agents`: what `--agent` takes."""

from __future__ import annotations

from typing import Any

from colbench.cli.agents import list as listing
from colbench.cli.agents import new

ACTIONS = (listing, new)


def add_to(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser("agents", help="list agents", description=__doc__)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in ACTIONS:
        action.add_to(actions)
