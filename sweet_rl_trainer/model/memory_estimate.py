"""An estimate of the memory that a training run needs on each device, made before anything is loaded.

Bytes for a model with P parameters; adapters have T parameters:

| part | full fine-tuning | adapters |
|---|---|---|
| weights | 4 P + 2 P for copies in bfloat16 | 2 P (in float32: 4 P, in 4 bits: 0.55 P) + 4 T |
| gradients and Adam's moments | 4 P + 8 P (8-bit optimizers: 4 P + 2 P) | 4 T + 8 T (8-bit optimizers: 4 T + 2 T) |
| activations | as in `activations` | the same |
| logits of a chunk of tokens, and their gradient | twice `logprobs.CHUNK_BYTES` | the same |

FSDP2 and ZeRO-3 divide the first two parts among the processes. However, every device must hold at least the whole
weights, because the reference values are computed before the weights are divided.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sweet_rl_trainer.settings import LoraSettings, TrainSettings

BYTES = {"float32": 4, "bfloat16": 2}
QUANTIZED = 0.55
"""Bytes per weight with 4-bit quantization, including the quantization constants."""


class Size(Struct, frozen=True, kw_only=True):
    """Dimensions of a model."""

    parameters: int
    linear: tuple[tuple[int, int], ...]
    """Numbers of inputs and outputs of each linear layer except the output layer."""
    layers: int
    width: int
    """Width of the hidden states."""
    inner: int
    """Width of the feed-forward layers."""
    tower: Tower | None = None
    """The vision tower, if the model has one.

    `parameters` and `linear` include it; `layers`, `width` and `inner` do not.
    """


class Tower(Struct, frozen=True, kw_only=True):
    """Dimensions of a vision tower."""

    layers: int
    width: int
    inner: int


class _Shape(Struct, frozen=True, kw_only=True):
    """An entry of `shapes.json`: dimensions that several models share, copied from their public `config.json`."""

    names: tuple[str, ...]
    """Names on the Hugging Face Hub; a base model and its fine-tuned versions have the same shape."""
    parameters: int
    config: dict[str, Any]


@cache
def size_of(folder: Path) -> Size:
    """Return the size of the model whose configuration is in a folder; no weights are loaded."""
    from transformers import AutoConfig

    return _size(AutoConfig.from_pretrained(folder, local_files_only=True))


@cache
def known_size(name: str) -> Size | None:
    """Return the size of a model by its name on the Hub, `OWNER/NAME[@REVISION]`; None if it is not in `shapes.json`.

    Nothing is downloaded.
    """
    from transformers import AutoConfig

    shape = _shape(name)
    if shape is None:
        return None
    config = dict(shape.config)
    return _size(AutoConfig.for_model(config.pop("model_type"), **config))


def known_parameters(name: str) -> int | None:
    """Return the number of parameters of a model by its name on the Hub; None if it is not in `shapes.json`."""
    shape = _shape(name)
    return shape.parameters if shape else None


def _shape(name: str) -> _Shape | None:
    wanted = name.partition("@")[0].lower()
    table = files("sweet_rl_trainer.model").joinpath("shapes.json").read_bytes()
    shapes = msgspec.json.decode(table, type=list[_Shape])
    return next((each for each in shapes if wanted in map(str.lower, each.names)), None)


def _size(config: Any) -> Size:
    import torch
    from torch import nn

    from sweet_rl_trainer.model.value_head import sees

    with torch.device("meta"):
        model: Any = _kind(config).from_config(config)
    head = model.get_output_embeddings()
    linear = [each for each in model.modules() if isinstance(each, nn.Linear) and each is not head]
    text = config.get_text_config()
    return Size(
        parameters=sum(each.numel() for each in model.parameters()),
        linear=tuple((each.in_features, each.out_features) for each in linear),
        layers=text.num_hidden_layers,
        width=text.hidden_size,
        inner=getattr(text, "intermediate_size", None) or 4 * text.hidden_size,
        tower=_tower(config.vision_config) if sees(config) else None,
    )


def _tower(config: Any) -> Tower:
    """Return the vision tower of Qwen2-VL or Qwen2.5-VL; only Qwen2-VL calls its width `embed_dim`."""
    width = getattr(config, "embed_dim", None) or config.hidden_size
    inner = getattr(config, "intermediate_size", None) or config.mlp_ratio * width
    return Tower(layers=config.depth, width=width, inner=inner)


def _kind(config: Any) -> Any:
    """Return the class in transformers that builds the model of a configuration: for text, or for text and images."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    from sweet_rl_trainer.model.value_head import sees

    return AutoModelForImageTextToText if sees(config) else AutoModelForCausalLM


def training_bytes(
    size: Size, settings: TrainSettings, lora: LoraSettings | None, *, shards: int = 1
) -> int:
    """Return the number of bytes that each device needs if weights, gradients and moments are divided into `shards`."""
    from sweet_rl_trainer.model.logprobs import CHUNK_BYTES

    moments = 2 if "8bit" in settings.optimizer else 8
    if lora:
        trained = sum(lora.rank * (one + other) for one, other in size.linear)
        kept = QUANTIZED if lora.quantize else BYTES[settings.precision]
        whole = kept * size.parameters + 4 * trained
        shared = whole + (4 + moments) * trained
    else:
        copies = 2 if settings.precision == "bfloat16" else 0
        whole = (4 + copies) * size.parameters
        shared = whole + (4 + moments) * size.parameters
    row = activations(size, settings, lora)
    return round(max(shared / shards, whole) + row + 2 * CHUNK_BYTES)


def activations(size: Size, settings: TrainSettings, lora: LoraSettings | None) -> int:
    """Return the number of bytes of a row's activations.

    For each token, a layer keeps about 12 vectors of the model's width and 4 of the feed-forward width. With gradient
    checkpointing, only one layer at a time keeps these vectors, while every layer keeps its input. These inputs have
    the precision of the weights: float32, or with adapters `settings.precision`.
    """
    return settings.row_tokens * _kept(size, settings, lora)


def tower_activations(
    size: Size, settings: TrainSettings, lora: LoraSettings | None, patches: int
) -> int:
    """Return the bytes of the vision tower's activations for `patches` picture patches; 0 if the model has no tower."""
    return patches * _kept(size.tower, settings, lora) if size.tower else 0


def _kept(part: Size | Tower, settings: TrainSettings, lora: LoraSettings | None) -> int:
    """Return the number of bytes that are kept for each token (see `activations`)."""
    layer = (12 * part.width + 4 * part.inner) * BYTES[settings.precision]
    if settings.gradient_checkpointing:
        return layer + part.width * part.layers * BYTES[settings.precision if lora else "float32"]
    return layer * part.layers
