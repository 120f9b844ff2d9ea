"""Models sharded over processes: FSDP2 and DeepSpeed's ZeRO-3, as requested from `accelerate launch`.

Both shard a model that was loaded whole. Weights are transferred and gradients are summed in float32. As in a
run with one process, the trainer sets the precision of matrix products (`TrainSettings.precision`), so the initial
model equals its reference.
"""

from __future__ import annotations

import os
from typing import Any

import torch


def use_cpu() -> bool:
    """Return True if accelerate must be told to use CPUs; DeepSpeed itself detects the device."""
    return not torch.accelerator.is_available() and not _asked("ACCELERATE_USE_DEEPSPEED")


def backend() -> str | None:
    """Return the communication backend to pass to accelerate: `gloo` for DeepSpeed on CPUs, otherwise None."""
    on_cpu = _asked("ACCELERATE_USE_DEEPSPEED") and not torch.accelerator.is_available()
    return "gloo" if on_cpu else None


def share_on_cpu(accelerator: Any) -> None:
    """Turn on FSDP2 on CPUs if it was requested.

    Without this call, accelerate would silently train a whole copy of the model in each process.
    """
    from accelerate import PartialState
    from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin

    state = accelerator.state
    if state.distributed_type == DistributedType.MULTI_CPU and _asked("ACCELERATE_USE_FSDP"):
        state.fsdp_plugin = FullyShardedDataParallelPlugin()
        for each in (state, PartialState()):  # accelerate repeatedly copies the second to the first
            each.distributed_type = DistributedType.FSDP


def _asked(name: str) -> bool:
    return os.environ.get(name, "").lower() == "true"
