"""The settings of a training run.

A default is the paper's value if the paper reports one (arXiv 2503.15478, appendix on hyper-parameters). Defaults that
differ between methods are in `methods`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Literal, cast

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from colbench.errors import UserError

Score = Literal["log-ratio", "value"]
Precision = Literal["float32", "bfloat16"]
Quantize = Literal["4bit"]
Tracker = Literal["tensorboard", "wandb", "trackio"]
"""Trackers of transformers, in addition to the log file of a run."""

Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
"""A finite learning rate."""
Beta = Annotated[float, Meta(ge=0, lt=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]


TRACKERS: Mapping[Tracker, tuple[str, ...]] = {
    "tensorboard": ("tensorboard", "tensorboardX"),
    "wandb": ("wandb",),
    "trackio": ("trackio",),
}
"""Packages for each tracker. To use a tracker, one of its packages must be installed."""


def trackers(names: Sequence[Tracker] | Tracker) -> tuple[Tracker, ...]:
    """Return the names of trackers as a tuple; a single name may be given as a string."""
    return (names,) if isinstance(names, str) else tuple(names)


def not_installed(names: Sequence[str]) -> str:
    """Return a message with the command that installs the missing trackers; "" if all are installed."""
    lacking = [
        name
        for name in names
        if not any(find_spec(package) for package in TRACKERS[cast(Tracker, name)])
    ]
    return (
        f"report_to: not installed: {', '.join(lacking)}; pip install {' '.join(lacking)}"
        if lacking
        else ""
    )


def require_trackers(names: Sequence[str]) -> None:
    """Raise UserError, with the install command, if one of these trackers is not installed."""
    if lack := not_installed(names):
        raise UserError(lack)


class TrainSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Training settings, each marked with its source: "Paper", or "Ours" if the paper does not report it."""

    score: Score = "log-ratio"
    """The summands of the score S in `train.loss`.

    "log-ratio": log π_θ − log π_ref. "value": the values of a regression head. Paper: log-ratio; for the critic of
    frontend design, value.
    """
    beta: Positive = 0.1
    """β of the preference loss. Paper."""
    likelihood_weight: NotNegative = 0.01
    """λ, the weight of NLL⁺ (the mean NLL of the chosen side's tokens) relative to the preference loss. Paper."""
    likelihood_over: Literal["replies", "everything"] = "replies"
    """Tokens in the mean NLL: "everything" adds system and human messages, as in the released actor. Ours: replies."""

    learning_rate: Rate = 2e-7
    """The peak learning rate; LoRA needs about 1e-5 or more. Paper: 2e-7, for full fine-tuning."""
    final_rate: Share = 0.1
    """The learning rate at the end of the cosine schedule, as a share of the peak. Paper."""
    warmup: Share = 0.03
    """Share of the steps in which the learning rate rises from 0; the last step is never a warmup step. Paper."""
    adam: tuple[Beta, Beta] = (0.9, 0.95)
    """β₁ and β₂. Paper."""
    weight_decay: NotNegative = 0.0
    """Weight decay. Ours: none, because the paper mentions none."""
    clip: Positive = 1.0
    """The norm that gradients are clipped to. Paper."""
    optimizer: str = "adamw_torch_fused"
    """Name of any AdamW in transformers, such as `paged_adamw_8bit`. Ours."""

    batch_size: Count = 8
    """Number of pairs, or of imitated examples, in an optimizer step, over all processes. Paper: 8; for RFT, 32."""
    epochs: Count = 4
    """Number of passes over the examples.

    Paper: 4, or 8 for critic, RFT and multi-turn DPO in frontend design; actor: 1.
    """
    max_steps: Count | None = None
    """Maximum number of optimizer steps, at which the schedule also ends. Ours: no limit besides the epochs."""
    row_tokens: Count = 16_384
    """Maximum number of tokens in a packed row; it determines memory use. A longer example has its own row. Ours."""
    share_beginnings: bool = False
    """True to compute a common prefix of several sequences in a row only once (`attention.can_share`). Ours."""

    precision: Precision = "bfloat16"
    """Precision of matrix products; trained weights are kept in float32. Paper."""
    gradient_checkpointing: bool = True
    """True to recompute activations instead of storing them: less memory, a third more time, same result. Ours."""

    save_every: Count = 50
    """Number of optimizer steps between checkpoints; any held-out examples are evaluated before each one. Ours."""
    keep: Count = 2
    """Number of checkpoints to keep, including the best one. Ours."""
    patience: Count | None = None
    """Number of consecutive evaluations without an improvement after which training stops. Ours: no such limit."""
    log_every: Count = 1
    """Number of optimizer steps between two lines of the log; checkpoints and the last step are also logged. Ours."""
    report_to: tuple[Tracker, ...] | Tracker = ()
    """Additional trackers to log to: one or several of tensorboard, wandb and trackio. Ours: none."""
    seed: Annotated[int, Meta(ge=0)] = 0
    """Seed for the order of the examples and for dropout. Ours."""

    def __post_init__(self) -> None:
        force_setattr(self, "report_to", trackers(self.report_to))
        if self.score == "value" and self.likelihood_weight:
            raise UserError(
                f'likelihood_weight {self.likelihood_weight:g}: must be 0 with score = "value", which has no likelihood'
            )

    def steps_of_epoch(self, count: int) -> int:
        """Return the number of optimizer steps in an epoch, which uses each of `count` examples once."""
        return -(-count // self.batch_size)

    def steps(self, count: int) -> int:
        """Return the number of optimizer steps in a training run on `count` examples."""
        whole = self.steps_of_epoch(count) * self.epochs
        return min(whole, self.max_steps or whole)


class LoraSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank adapters (arXiv 2106.09685) instead of full fine-tuning. Ours; the paper trains all weights."""

    rank: Count = 16
    alpha: Count = 32
    """The adapters' product is scaled by alpha / rank."""
    dropout: Share = 0.0
    """Dropout of the adapters' inputs."""
    targets: tuple[str, ...] = ()
    """Suffixes of the names of the linear layers to adapt; by default, all layers except the output layer."""
    quantize: Quantize | None = None
    """Format to which the base weights are quantized (QLoRA, arXiv 2305.14314); None for no quantization."""


class Shape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of a small Llama with random weights."""

    layers: Count = 2
    width: Annotated[int, Meta(ge=1, multiple_of=32)] = 64
    """Width of the hidden states. The number of attention heads is the width divided by 32."""
    inner: Count = 256
    """Width of the feed-forward layers."""
    vocabulary: Annotated[int, Meta(ge=300)] = 1024
    """Maximum number of tokens in the tokenizer's vocabulary."""
    context: Count = 16_384
    """Maximum number of tokens that the model can read."""
    texts: str = ""
    """Source of the tasks whose requests, facts and references train the tokenizer.

    If empty, the tokenizer is trained on the tasks on which the recipe's domain is evaluated by default.
    """
    seed: int = 0
