"""Training and held-out splits by task: all dialogues about a task are in the same split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from colbench.config import derive_seed
from colbench.errors import UserError
from sweet_rl_trainer.data.trajectories import Trajectory

T = TypeVar("T", bound=Trajectory)


def is_held_out(task_hash: str, share: float, seed: int = 0) -> bool:
    """Return True if a task is in the held-out split, which contains about this share of all tasks.

    The decision does not depend on other tasks.
    """
    return derive_seed("held-out", seed, task_hash) < share * 2**31


def is_in_part(task_hash: str, share: float, seed: int = 0) -> bool:
    """Return True if a task is in a random part with about the given share of all tasks.

    The result depends only on the arguments, not on other tasks.
    """
    return derive_seed("share", seed, task_hash) < share * 2**31


def part(trajectories: Sequence[T], share: float, *, seed: int = 0) -> list[T]:
    """Return the trajectories of about this share of the tasks; a larger share includes all tasks of a smaller share.

    Raises UserError if no task is left.
    """
    found = [each for each in trajectories if is_in_part(each.task_hash, share, seed)]
    if not found:
        raise UserError(
            f"data.share {share:g}: no task remains; set a larger share, or use more tasks"
        )
    return found


def split(trajectories: Sequence[T], share: float, *, seed: int = 0) -> tuple[list[T], list[T]]:
    """Return the training trajectories and the held-out ones.

    Raises UserError for a share outside [0, 1), or if a requested split is empty.
    """
    if not 0 <= share < 1:
        raise UserError(f"data.held_out {share}: must be at least 0 and less than 1")
    train = [each for each in trajectories if not is_held_out(each.task_hash, share, seed)]
    held_out = [each for each in trajectories if is_held_out(each.task_hash, share, seed)]
    if not train or (share and not held_out):
        tasks = len({each.task_hash for each in trajectories})
        side = "held-out split" if train else "training split"
        raise UserError(
            f"data.held_out {share:g}, data.seed {seed}: none of {tasks} tasks is in the {side}; "
            "use more tasks, or change data.held_out or data.seed"
        )
    return train, held_out
