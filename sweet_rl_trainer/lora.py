"""Low-rank adapters through peft."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from colbench.errors import UserError
from sweet_rl_trainer.settings import LoraSettings


def adapt(model: nn.Module, settings: LoraSettings) -> nn.Module:
    """The model with adapters that do nothing yet; only they are trained.

    The output layer has none, for `logprobs` needs it as it is. Raises UserError if the model has no such layers.
    """
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) or "all-linear",
        task_type="CAUSAL_LM",
    )
    given: Any = model
    try:
        with _older_names():
            adapted: nn.Module = get_peft_model(given, config)
    except ValueError as cause:
        raise UserError(
            f"LoRA on {', '.join(settings.targets) or 'all layers'}: {cause}"
        ) from cause
    return adapted


def attach(model: nn.Module, folder: Path) -> nn.Module:
    """The model with the adapters that a folder holds, frozen."""
    from peft import PeftModel

    with _older_names():
        adapted: nn.Module = PeftModel.from_pretrained(model, folder)
    return adapted


@contextmanager
def _older_names() -> Iterator[None]:
    """Without the warnings that peft uses older names of transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
