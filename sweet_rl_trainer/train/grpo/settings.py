"""The settings of GRPO, with the source of each default: "paper" (DeepSeekMath, arXiv 2402.03300), "TRL", or "ours"."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from colbench.errors import UserError
from sweet_rl_trainer.settings import (
    Count,
    NotNegative,
    Positive,
    Precision,
    Share,
    Tracker,
    trackers,
)

Group = Annotated[int, Meta(ge=2)]
Scale = Literal["group", "batch", "none"]


class GrpoSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for GRPO training. The dialogues are configured by `colbench.config.RunConfig`."""

    group_size: Group = 8
    """G: number of dialogues on each task. Their rewards are compared with each other. TRL; paper 64."""
    batch_size: Count = 64
    """Number of dialogues in an optimizer step, over all processes; a multiple of `group_size`. Ours; paper 1,024."""
    rows: Count = 1
    """Number of dialogues in a forward pass of a process, padded to the longest; it determines memory use. Ours."""
    steps: Count = 100
    """Number of optimizer steps. Ours."""
    iterations: Count = 1
    """μ: number of optimizer steps on the same dialogues. Paper and TRL."""

    learning_rate: Positive = 1e-6
    """The constant learning rate. Paper and TRL, for full fine-tuning; LoRA needs about 1e-5 or more."""
    beta: NotNegative = 0.0
    """Weight of the KL divergence from the initial model. TRL; paper 0.04.

    Above 0, the initial model is loaded a second time, unless adapters are trained.
    """
    epsilon: Positive = 0.2
    """Probability ratios are clipped to 1 ± epsilon; in the first of the `iterations`, all ratios are 1. TRL."""
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "grpo"
    """The mean over tokens: within each dialogue, then over dialogues ("grpo", paper), or as in TRL's `loss_type`."""
    scale: Scale = "group"
    """Divisor of the difference between a reward and its group's mean. TRL, paper: group.

    The divisor is the standard deviation of the group ("group") or of the batch ("batch"), or 1 ("none").
    """

    credit: Literal["dialogue", "turn"] = "dialogue"
    """The advantage of a turn: the advantage of its dialogue, or one computed from the rewards of this and later turns.

    For tasks without facts, both are the same. See `credit.py`. TRL, paper: dialogue.
    """
    facts_weight: NotNegative = 0.5
    """With `credit = "turn"`: the weight of the share of hidden facts that the human has revealed.

    If 0, every turn has the advantage of its dialogue. Ours.
    """

    temperature: Positive = 1.0
    """Temperature of sampling, and of the trained log-probabilities. As in TRL and in the harness's agents."""
    max_new_tokens: Count = 1024
    """Maximum number of tokens of a reply. As in the agent `local:`."""
    server: str | None = None
    """URL of a vLLM server (`http://host:8000`) to sample from; None to sample in this process. See `samplers`.

    TRL keeps the weights on the server up to date."""

    adam: tuple[Share, Share] = (0.9, 0.999)
    """β₁ and β₂. TRL."""
    weight_decay: NotNegative = 0.0
    """Weight decay. TRL."""
    clip: Positive = 1.0
    """The norm that gradients are clipped to. TRL."""
    optimizer: str = "adamw_torch_fused"
    """Name of any optimizer in transformers. TRL."""
    precision: Precision = "bfloat16"
    """Precision of matrix products; trained weights are kept in float32. TRL."""
    gradient_checkpointing: bool = True
    """Recompute activations instead of storing them. TRL."""

    save_every: Count = 50
    """Number of optimizer steps between two checkpoints, a multiple of `iterations`. Ours."""
    keep: Count = 2
    """Number of checkpoints to keep. Ours."""
    log_every: Count = 1
    """Number of optimizer steps between two lines of the log; checkpoints and the last step are also logged. Ours."""
    report_to: tuple[Tracker, ...] | Tracker = ()
    """Additional trackers to log to: one or several of tensorboard, wandb and trackio. Ours: none."""
    seed: Annotated[int, Meta(ge=0)] = 0
    """Seed for the order of the tasks, and for sampling in this process. Ours."""

    def __post_init__(self) -> None:
        force_setattr(self, "report_to", trackers(self.report_to))


def trl_missing() -> str:
    """Return instructions for installing TRL; "" if it is installed."""
    if find_spec("trl"):
        return ""
    return "GRPO needs TRL, which is not installed (`pip install 'colbench[train,grpo]'`)"


def require_trl() -> None:
    """Raise UserError, which names the extra to install, if TRL is not installed."""
    if lack := trl_missing():
        raise UserError(lack)


def check(settings: GrpoSettings, *, tasks: int, processes: int) -> None:
    """Raise UserError if batch sizes or intervals do not divide evenly, or there are too few tasks for one batch."""
    whole = settings.rows * processes
    for name, value, part, of in (
        ("batch_size", settings.batch_size, settings.group_size, "group_size"),
        ("batch_size", settings.batch_size, whole, f"rows x {processes} processes"),
        ("save_every", settings.save_every, settings.iterations, "iterations"),
    ):
        if value % part:
            raise UserError(f"{name} {value}: must be a multiple of {of} = {part}")
    groups = settings.batch_size // settings.group_size
    if tasks < groups:
        raise UserError(
            f"batch_size {settings.batch_size}: {groups} groups of {settings.group_size} dialogues, with one task per "
            f"group, require {groups} tasks, but there are only {tasks}; lower batch_size, or use more tasks"
        )
