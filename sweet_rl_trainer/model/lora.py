"""Low-rank adapters through peft."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from colbench.errors import UserError
from sweet_rl_trainer.model.value_head import has_value_head
from sweet_rl_trainer.settings import LoraSettings, Score

VALUES = "TOKEN_CLS"
"""peft's name for the task of a value model."""


def adapt(model: nn.Module, settings: LoraSettings) -> nn.Module:
    """Return the model with new adapters. Only the adapters and the head of a value model are trained.

    The output layer has no adapter, because `logprobs` needs the layer unchanged. The head of a value model has no
    adapter, because peft trains and saves the head itself. Raises UserError if the model lacks the layers to adapt, and
    ValueError if the model's quantization differs from `settings`.
    """
    from peft import LoraConfig, get_peft_model

    if bool(settings.quantize) != getattr(model, "is_loaded_in_4bit", False):
        raise ValueError(
            f"quantize {settings.quantize}: the model was loaded with a different quantization"
        )
    values = has_value_head(model)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets) or "all-linear",
        task_type=VALUES if values else "CAUSAL_LM",
        exclude_modules=["score"] if values else None,
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


def score_of(folder: Path) -> Score:
    """Return "value" if the adapters in a folder belong to a value model, otherwise "log-ratio"."""
    from peft import PeftConfig

    config = PeftConfig.from_pretrained(str(folder))
    return "value" if config.task_type == VALUES else "log-ratio"


def attach(model: nn.Module, folder: Path) -> nn.Module:
    """Return the model with the frozen adapters of a folder."""
    from peft import PeftModel

    with _older_names():
        adapted: nn.Module = PeftModel.from_pretrained(model, folder)
    return adapted


@contextmanager
def _older_names() -> Iterator[None]:
    """Silence warnings about peft's use of deprecated names of transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
