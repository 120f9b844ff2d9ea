"""Old spellings of the leaderboard's commands, each with the command line that replaces it."""

from __future__ import annotations

from typing import Any

from colbench.errors import UserError

MOVED = {
    "leaderboard refuse": "colbench leaderboard accept STORE BUNDLE --refuse REASON",
    "leaderboard serve": "colbench leaderboard build STORE --serve",
    "submit changes": "colbench leaderboard audit REPOSITORY --added-since COMMIT",
    "submit template": "colbench submit pack --template FILE",
}


def add_moved(group: str, actions: Any) -> None:
    """Add the old actions of a group of commands, without help; each fails and names the new spelling."""
    for old, new in MOVED.items():
        command, _, action = old.partition(" ")
        if command == group:
            parser = actions.add_parser(action, add_help=False, prefix_chars="\0")
            parser.add_argument("arguments", nargs="*")  # any flag, too: no prefix can be typed
            parser.set_defaults(run=_refusal(f"`colbench {old}` is now `{new}`"))


def _refusal(message: str) -> Any:
    def run(_: object) -> int:
        raise UserError(message)

    return run
