"""Models that are shared out among processes: FSDP2 and DeepSpeed's ZeRO-3, as `accelerate launch` asks for them.

Both share out what was loaded whole. Weights travel and gradients are added up in float32: the products' precision is
the trainer's own (`TrainSettings.precision`), as with one process, so that the model at its start is its reference.
"""

from __future__ import annotations

import os
from typing import Any

import torch


def use_cpu() -> bool:
    """Return True if accelerate must be told to run on CPUs; DeepSpeed finds its own device."""
    return not torch.accelerator.is_available() and not _asked("ACCELERATE_USE_DEEPSPEED")


def backend() -> str | None:
    """Return the communication backend if accelerate does not know it: DeepSpeed's on CPUs."""
    on_cpu = _asked("ACCELERATE_USE_DEEPSPEED") and not torch.accelerator.is_available()
    return "gloo" if on_cpu else None


def share_on_cpu(accelerator: Any) -> None:
    """Turn on FSDP2 on CPUs, where accelerate would silently train copies."""
    from accelerate import PartialState
    from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin

    state = accelerator.state
    if state.distributed_type == DistributedType.MULTI_CPU and _asked("ACCELERATE_USE_FSDP"):
        state.fsdp_plugin = FullyShardedDataParallelPlugin()
        for each in (state, PartialState()):  # the first is filled repeatedly from the second
            each.distributed_type = DistributedType.FSDP


def _asked(name: str) -> bool:
    return os.environ.get(name, "").lower() == "true"
