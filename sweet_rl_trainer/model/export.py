"""A trained model as a checkpoint that `vllm serve` loads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from colbench.errors import UserError
from sweet_rl_trainer.model.checkpoint import is_adapters, load_tokenizer
from sweet_rl_trainer.model.load import load_trained
from sweet_rl_trainer.settings import Precision

GENERATION = "generation_config.json"
"""The file with the sampling settings and the tokens that end a reply; training does not change this file."""
TOKENIZER = "tokenizer_config.json"


def export(trained: Path, base: Path, out: Path, *, dtype: Precision = "bfloat16") -> Path:
    """Write weights, configuration, tokenizer, chat template and generation settings to the folder `out`; return `out`.

    `trained` is the folder returned by `train.run.train` or `train_grpo` for a model that started from `base`. Adapters
    are merged into the base on the CPU in float32, even if they were trained on a base in 4 bits. The result is rounded
    to `dtype`. The folder is written atomically. Raises UserError if `out` exists and is not an empty folder, or if an
    input cannot be loaded.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out} already exists; choose another folder")
    tokenizer = load_tokenizer(trained if (trained / TOKENIZER).is_file() else base)
    model = merged(trained, base).to(getattr(torch, dtype))
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    if (base / GENERATION).is_file():
        shutil.copyfile(base / GENERATION, part / GENERATION)
    part.replace(out)  # also works if `out` is an empty folder
    return out


def merged(trained: Path, base: Path) -> Any:
    """Return the whole trained model in float32, with its adapters merged."""
    from transformers import GenerationConfig

    model = load_trained(trained, base, device="cpu")
    if is_adapters(trained):
        model = model.merge_and_unload()
    model.config.use_cache = True  # training turns it off
    fresh: Any = GenerationConfig
    # some published models cannot be saved with their own generation config
    model.generation_config = fresh()
    return model
