"""Old spellings of the leaderboard's commands, each with the command line that replaces it."""

from __future__ import annotations

from functools import partial
from typing import Any

from colbench.command import refuse_moved

MOVED = {
    "leaderboard refuse": "colbench leaderboard accept STORE BUNDLE --refuse REASON",
    "leaderboard serve": "colbench leaderboard build STORE --serve",
    "submit changes": "colbench leaderboard audit REPOSITORY --added-since COMMIT",
    "submit template": "colbench submit pack --template FILE",
}


def add_moved(group: str, actions: Any) -> None:
    """Add the old actions of a group of commands, without help; each fails and names the new spelling."""
    for old in MOVED:
        command, _, action = old.partition(" ")
        if command == group:
            parser = actions.add_parser(action, add_help=False, prefix_chars="\0")
            parser.add_argument("arguments", nargs="*")  # any flag, too: no prefix can be typed
            parser.set_defaults(run=partial(_refuse, old))


def _refuse(old: str, _: object) -> int:
    return refuse_moved("colbench", old.split(), MOVED)
