"""The checkpoints of a folder, as transformers' Trainer writes them."""

from __future__ import annotations

from pathlib import Path

import msgspec


def checkpoints(folder: Path) -> dict[int, Path]:
    """Return the complete checkpoints by step, in order.

    A checkpoint with a valid trainer_state.json is complete, because this file is written last.
    """
    found = {
        int(path.name[11:]): path
        for path in folder.glob("checkpoint-*")
        if path.name[11:].isdigit() and _complete(path)
    }
    return dict(sorted(found.items()))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the latest complete checkpoint; None if the folder has no complete checkpoint."""
    return next(reversed(checkpoints(folder).values()), None)


def _complete(checkpoint: Path) -> bool:
    try:
        msgspec.json.decode((checkpoint / "trainer_state.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return False
    return True
