"""Shards: the parts of a run that is split over several machines.

The task and the trial of a dialogue determine its shard. All runs on the same tasks are therefore split in the same
way, even if their agents differ: shard 1 of 4 of one run can be compared with shard 1 of 4 of another run.
"""

from __future__ import annotations

from colbench.config import Shard, digest


def in_shard(shard: Shard | None, task_id: str, task_hash: str, trial: int) -> bool:
    """Return True if a trial of a task is in `shard` (number, count of shards); always True if `shard` is None."""
    if shard is None:
        return True
    number, shards = shard
    return int(digest(["shard", task_id, task_hash, trial])[:16], 16) % shards == number - 1


def shard_name(shard: Shard) -> str:
    """Return the human-readable name of a shard, such as `shard 2 of 4`."""
    number, shards = shard
    return f"shard {number} of {shards}"
