"""The value baseline: a critic whose scores come from a regression head, not from log-probabilities.

    S(τ) = Σ_i w_i v(x_i),  v(x_i) = h · (last hidden state at token i, including this token)
    L    = −log σ(β (S(τ⁺) − S(τ⁻)))

With token weights `turn-mean`, the score of a turn is the head applied to the mean of its tokens' hidden states. The
loss has no reference model and no NLL. The head has no bias and is initialized to 0, so the first scores are 0, the
first loss is ln 2, and the first step changes only the head. Source: arXiv 2503.15478, Table 3 ("regression head").

A value model is a token classifier of transformers with one label. It is saved as an ordinary checkpoint with the
backbone and `score.weight`, which `AutoModelForTokenClassification` can also load. With LoRA, the head is saved with
the adapters, as one of the `modules_to_save`.

The paper's frontend critic is such a head on the vision model Qwen2-VL-7B. transformers has no token classifier for
this kind of model, so `value_class` creates one, which is saved in the same way. The module `vision` prepares the
inputs of such models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from colbench.errors import UserError

NEW = {"score.weight", "score.bias"}
"""Parameters that token classifiers have and causal language models lack; a value model has no bias."""
CONFIG = {"num_labels": 1, "classifier_dropout": 0.0, "token_classification_bias": False}
"""Configuration of a token classifier used as a value model."""
KINDS = ("qwen2_vl", "qwen2_5_vl")
"""Names in transformers of the supported architectures that accept images."""
NAMES = {r"^visual": "model.visual", r"^model(?!\.(language_model|visual))": "model.language_model"}
"""Patterns for the beginnings of weight names in published checkpoints, each with its replacement in transformers."""


class ValueHead(nn.Linear):
    """The head h, which maps hidden states [..., H] to values [..., 1], in float32 even under autocast."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__(weight.shape[1], 1, bias=False, device="meta")
        self.weight = weight

    def forward(self, input: Tensor) -> Tensor:
        """Return the values."""
        with torch.autocast(input.device.type, enabled=False):
            return linear(input.float(), self.weight.float())


def load_value_model(folder: Path, **options: Any) -> Any:
    """Return the value model of a checkpoint; `options` are passed to `from_pretrained`.

    The head is always float32. If the checkpoint belongs to a causal language model, the head starts at 0. Raises
    UserError if transformers has no token classifier for this kind of model, if the checkpoint's classifier has several
    labels or a bias, or if weights are missing or have the wrong shape.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder)
    kind, own = _classifier(folder, config)
    for name, value in CONFIG.items():
        setattr(config, name, value)
    with _quiet():
        model, report = kind.from_pretrained(
            folder,
            config=config,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **own,
            **options,
        )
    missing = set(report["missing_keys"])
    reshaped = {key for key, *_ in report["mismatched_keys"]}
    if wrong := sorted(reshaped | (missing - NEW) | (set(report["unexpected_keys"]) & NEW)):
        raise UserError(
            f"{folder}: the checkpoint does not fit a value model: these weights are missing, unexpected or "
            f"of another shape: {', '.join(wrong)}; use a causal language model, or a token classifier with "
            "one label and without bias"
        )
    model.score = ValueHead(model.score.float().weight)
    if "score.weight" in missing:
        nn.init.zeros_(model.score.weight)
    if own:
        model._weight_conversions = []  # save under the model's parameter names, which resuming needs
    return model


def sees(config: Any) -> bool:
    """Return True if models of this configuration accept images and are supported here (`KINDS`)."""
    return getattr(config, "model_type", "") in KINDS


def value_class(config: Any) -> type[Any]:
    """Build the token-classification class of a vision model (`sees`), because transformers has none."""
    from transformers import AutoModel
    from transformers.modeling_layers import GenericForTokenClassification

    backbone: Any = AutoModel._model_mapping[type(config)]
    pretrained = backbone.__mro__[1]
    name = backbone.__name__.removesuffix("Model") + "ForTokenClassification"
    return type(name, (GenericForTokenClassification, pretrained), {})


def _classifier(folder: Path, config: Any) -> tuple[Any, dict[str, Any]]:
    """Return the class of a configuration's token classifier, and options to load it with."""
    from transformers import AutoModelForTokenClassification

    if sees(config):
        return value_class(config), {"key_mapping": NAMES}
    if type(config) not in AutoModelForTokenClassification._model_mapping:
        raise UserError(
            f"{folder}: a value model requires a token classifier, but transformers has no token "
            f"classifier of {config.model_type}; use another model"
        )
    return AutoModelForTokenClassification, {}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence transformers' warnings on missing and unexpected weights; `load_value_model` checks them itself."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def has_value_head(model: nn.Module) -> bool:
    """Return True if this is a value model, even inside a wrapper."""
    return any(isinstance(module, ValueHead) for module in model.modules())
