"""The board that an entry belongs to. Entries on a board have the same tasks and the same setting.

The standard track prescribes the setting, which consists of the human and the turn limit. In the open track, each
setting has its own boards.
"""

from __future__ import annotations

from colbench.config import digest
from colbench_leaderboard.bundle.refused import shown
from colbench_leaderboard.bundle.schema import Lock, Track
from colbench_leaderboard.bundle.tracks import HUMAN, TURNS

DIGITS = 16
"""Number of digits of the tasks' hash in a board's name."""
SETTING_DIGITS = 8


def board_key(track: Track, domain: str, tasks: str, lock: Lock) -> str:
    """Return the name of an entry's board in URLs; `tasks`: hash of the tasks on which the entry was verified."""
    key = f"{track}-{domain}-{tasks[:DIGITS]}"
    return key if track == "standard" else f"{key}-{digest(_setting(lock))[:SETTING_DIGITS]}"


def setting(lock: Lock) -> str:
    """Return the human and the turn limit of a run in words, such as `human keyless, 10 turns`."""
    human, args, prompt, turns = _setting(lock)
    own = [f"{name}={value}" for name, value in sorted(args.items())]
    if prompt:
        own.append("own prompt")
    changed = f" ({', '.join(own)})" if own else ""
    return f"human {shown(f'{human}{changed}')}, {turns} turns"


def _setting(lock: Lock) -> tuple[object, dict[str, object], object, object]:
    config = lock.config
    return (
        config.get("human", HUMAN),
        config.get("human_args") or {},
        config.get("human_prompt"),
        config.get("max_turns", TURNS),
    )
