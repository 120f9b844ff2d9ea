"""Models from checkpoints.

`load_model` loads a whole checkpoint; `load_trained` loads what `train.run.train` saved, which may be adapters. With 4
bits (QLoRA, arXiv 2305.14314), all linear layers except the output layer are quantized to NF4 with double quantization.
The other weights and the matrix products have the precision `dtype`. peft's `prepare_model_for_kbit_training` is not
needed: `get_peft_model` freezes the weights, and `Trainer` enables gradient checkpointing.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct
from torch import nn

from colbench.errors import DataError, UserError
from sweet_rl_trainer.model.checkpoint import is_adapters, readable
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.lora import attach
from sweet_rl_trainer.model.value_head import load_value_model
from sweet_rl_trainer.settings import Precision, Quantize, Score

LACK = re.compile(r"out of memory|can't allocate memory")
"""PyTorch's error texts for insufficient memory, on a GPU and on the host."""


def load_model(
    folder: Path,
    *,
    dtype: Precision = "float32",
    device: str | torch.device | None = None,
    quantize: Quantize | None = None,
    attention: str | None = None,
    score: Score = "log-ratio",
) -> Any:
    """Load the causal language model of a checkpoint, or its value model if `score` is "value", in evaluation mode.

    Weights to train must be float32; frozen weights next to adapters may be bfloat16. The default `device` is the
    process's own (`own_device`). `attention` is transformers' name of an attention implementation. Its default is
    `flash_attention_2` if flash-attn is installed and `dtype` is bfloat16 on a GPU; otherwise, it is `sdpa`, which
    supports shared prefixes. Raises UserError if the folder has no whole checkpoint, if weights are missing or have the
    wrong shape, if the architecture is unknown, if memory is insufficient, or if `quantize` is set without the library
    bitsandbytes.
    """
    from transformers import AutoModelForCausalLM

    place = torch.device(device) if device is not None else own_device()
    options: dict[str, Any] = {
        "dtype": getattr(torch, dtype),
        "attn_implementation": attention or _attention(dtype, place),
        "local_files_only": True,
        "trust_remote_code": False,
    }
    if quantize or place.type != "cpu":
        options |= {"device_map": {"": place}}
    if quantize:
        options |= {"quantization_config": _four_bits(dtype)}
    _check_whole(folder)
    with readable(folder, "model"), enough_memory(f"model {folder} in {quantize or dtype}"):
        if score == "value":
            return _without_packing(load_value_model(folder, **options))
        found: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # the report lists them
            **options,
        )
    model, report = found
    if lacking := sorted(
        {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}
    ):
        raise DataError(
            f"{folder}: these weights are missing or have the wrong shape: {_some(lacking)}"
        )
    return _without_packing(model)


def load_trained(
    folder: Path,
    base: Path,
    *,
    dtype: Precision = "float32",
    device: str | torch.device | None = None,
    quantize: Quantize | None = None,
    attention: str | None = None,
    score: Score = "log-ratio",
) -> Any:
    """Load the output of `train.run.train` in evaluation mode: a whole model, or `base` with adapters in float32.

    The other arguments are as in `load_model`. Raises UserError in the same cases as `load_model`, and if the adapters
    were trained on another base.
    """
    whole = load_model(
        base if is_adapters(folder) else folder,
        dtype=dtype,
        device=device,
        quantize=quantize,
        attention=attention,
        score=score,
    )
    return _adapted(whole, folder, base) if is_adapters(folder) else whole


def own_device() -> torch.device:
    """Return the accelerator that `accelerate launch` assigns to this process; the CPU on a machine without one."""
    found = torch.accelerator.current_accelerator(check_available=True)
    if found is None:
        return torch.device("cpu")
    return torch.device(found.type, int(os.environ.get("LOCAL_RANK", "0")))


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Raise UserError with advice if the GPU or the host runs out of memory inside the context."""
    try:
        yield
    except (RuntimeError, MemoryError) as cause:
        said = str(cause).partition("\n")[0]
        if isinstance(cause, RuntimeError) and not LACK.search(said):
            raise
        raise UserError(
            f"{what}: not enough memory{said and f' ({said})'}. To use less memory, choose shorter rows "
            "(row_tokens), adapters (LoRA), 4-bit weights, more processes (FSDP2, ZeRO-3) or a smaller "
            "model"
        ) from cause


def free_memory() -> None:
    """Free the memory of unused models, including GPU memory, for other processes."""
    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


def _check_whole(folder: Path) -> None:
    if is_adapters(folder):
        raise UserError(
            f"{folder} contains adapters, not a whole model; use a folder in which they are merged into "
            "their base model"
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} contains no model: config.json is missing")


def _attention(dtype: Precision, device: torch.device) -> str:
    from transformers.utils.import_utils import is_flash_attn_2_available

    fits = dtype == "bfloat16" and device.type == "cuda"
    return "flash_attention_2" if fits and is_flash_attn_2_available() else "sdpa"


def _four_bits(dtype: Precision) -> Any:
    if find_spec("bitsandbytes") is None:
        raise UserError("4-bit quantization requires bitsandbytes: `pip install 'colbench[qlora]'`")
    from transformers import BitsAndBytesConfig

    config: Any = BitsAndBytesConfig
    return config(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, dtype),
    )


def _without_packing(model: nn.Module) -> nn.Module:
    """Turn off bitsandbytes' weight layout for inference on CPUs, and return the model.

    This layout does not support gradients.
    """
    layer: Any
    for layer in model.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False
    return model


class _Run(Struct):
    """The part of a training run's record (`train.run.Record`) that is read here."""

    origin: str


def _adapted(model: nn.Module, folder: Path, base: Path) -> nn.Module:
    _check_base(folder, base)
    with readable(folder, "adapters"):
        return attach(model, folder).eval()


def _check_base(folder: Path, base: Path) -> None:
    """Raise UserError if the adapters were trained on another base, according to their run's record."""
    record = folder.parent / "run.json"
    if not record.is_file():
        return
    origin = msgspec.json.decode(record.read_bytes(), type=_Run).origin
    if origin != model_digest(base):
        raise UserError(
            f"{folder} was trained from a base model other than {base}; use the base model of that training run"
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
