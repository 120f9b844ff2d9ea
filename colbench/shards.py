"""Shards: the parts of a run that several machines work on. A cell's shard depends on its task and trial alone.

Therefore every run on the same tasks is divided in the same way, whatever its agent, and shards with the same number
are comparable.
"""

from __future__ import annotations

from colbench.config import Shard, digest


def in_shard(shard: Shard | None, task_id: str, task_hash: str, trial: int) -> bool:
    """Return True if the cell of a task and a trial belongs to a shard, which is (I, N); None is the whole run."""
    if shard is None:
        return True
    number, shards = shard
    return int(digest(["shard", task_id, task_hash, trial])[:16], 16) % shards == number - 1


def shard_name(shard: Shard) -> str:
    """Return the human-readable name of a shard, such as `shard 2 of 4`."""
    number, shards = shard
    return f"shard {number} of {shards}"
