"""The checkpoints of a folder, as transformers' Trainer writes them."""

from __future__ import annotations

from pathlib import Path

import msgspec

STATE = ("optimizer.pt", "scheduler.pt", "rng_state*.pth")
"""Files that only going on needs."""


def checkpoints(folder: Path) -> dict[int, Path]:
    """All complete ones by their step, in order: the state is the last file that is written."""
    found = {
        int(path.name[11:]): path
        for path in folder.glob("checkpoint-*")
        if path.name[11:].isdigit() and _complete(path)
    }
    return dict(sorted(found.items()))


def last_checkpoint(folder: Path) -> Path | None:
    """The latest complete one."""
    return next(reversed(checkpoints(folder).values()), None)


def slim(folder: Path) -> None:
    """Delete what a training that is over does not need any more: two thirds of each checkpoint."""
    for checkpoint in checkpoints(folder).values():
        for pattern in STATE:
            for path in checkpoint.glob(pattern):
                path.unlink()


def _complete(checkpoint: Path) -> bool:
    try:
        msgspec.json.decode((checkpoint / "trainer_state.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return False
    return True
