"""The checkpoints of a folder, as transformers' Trainer writes them."""

from __future__ import annotations

from pathlib import Path

import msgspec


def last_checkpoint(folder: Path) -> Path | None:
    """The latest complete one: the state is the last file that is written."""
    found = [path for path in folder.glob("checkpoint-*") if path.name[11:].isdigit()]
    found.sort(key=lambda path: int(path.name[11:]), reverse=True)
    return next((path for path in found if _complete(path)), None)


def _complete(checkpoint: Path) -> bool:
    try:
        msgspec.json.decode((checkpoint / "trainer_state.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return False
    return True
