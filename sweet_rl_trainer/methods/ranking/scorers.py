"""The two models of a ranking, critic and reference; only one is in memory at a time.

Both models are loaded and run as in training, but always with the attention implementation `ATTENTION`. Their values
are stored in the cache of the training. So the scores of an untrained critic are 0. Reference values from training are
computed again only if training used another attention implementation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig

from colbench.config import digest
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings
from sweet_rl_trainer.model.attention import can_share
from sweet_rl_trainer.model.checkpoint import (
    ADAPTER_WEIGHTS,
    ADAPTERS,
    is_adapters,
    load_processor,
)
from sweet_rl_trainer.model.digest import file_digest, model_digest
from sweet_rl_trainer.model.load import free_memory, load_model, load_trained
from sweet_rl_trainer.model.packing import Row
from sweet_rl_trainer.model.value_head import sees
from sweet_rl_trainer.model.vision import Pixels
from sweet_rl_trainer.pipeline.base import loading
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.settings import Score
from sweet_rl_trainer.train.loss import READERS
from sweet_rl_trainer.train.reference_cache import ReferenceCache, arithmetic
from sweet_rl_trainer.train.scorer import Scorer

ATTENTION = "sdpa"
"""The attention implementation of both models. It can compute the candidates' common prefix only once."""


class Scorers:
    """A context manager that provides a scorer for the model `base`, and a scorer for the critic trained from `base`.

    On exit, the memory of the models is freed, including GPU memory, because other processes (vLLM, training) need it.
    """

    def __init__(
        self, recipe: Recipe, base: Path, references: Path, pictures: Path | None = None
    ) -> None:
        """Prepare the scorers.

        `base` is the critic's initial model, and `references` the folder of the cached values of both models. For a
        critic that sees pages, `pictures` is the folder of the pages' pictures.
        """
        self._settings = recipe.table(CriticSettings).train
        self._adapters = recipe.lora
        self._how = loading(self._settings.precision, self._adapters)
        self._base = base
        self._references = references
        self._pixels = pictures and Pixels(pictures, load_processor(base).image_processor)
        self._loaded: tuple[Path, Any] | None = None

    def __enter__(self) -> Scorers:
        return self

    def __exit__(self, *_: object) -> None:
        self._unload()

    def reference(self) -> Scorer:
        """Return the scorer that uses the model from which training started."""
        return self._scorer(self._base, "log-ratio")

    def critic(self, trained: Path) -> Scorer:
        """Return the scorer that uses a trained critic."""
        return self._scorer(trained, self._settings.score)

    def _scorer(self, folder: Path, score: Score) -> Scorer:
        config = AutoConfig.from_pretrained(self._base, attn_implementation=ATTENTION)

        def values(row: Row) -> Tensor:
            model = self._model(folder, score)
            row = self._pixels.of(row) if self._pixels else row
            device = next(model.parameters()).device
            narrow = self._settings.precision == "bfloat16"
            with torch.autocast(device.type, torch.bfloat16, enabled=narrow):
                return READERS[score](model, model.config, row.to(device))

        cache = ReferenceCache(
            self._references,
            model=trained_digest(folder, self._base),
            precision=arithmetic(self._settings, self._adapters, config),
        )
        share = not sees(config) and can_share(config)
        return Scorer(cache=cache, logprobs=values, share=share, score=score)

    def _model(self, folder: Path, score: Score) -> Any:
        if self._loaded is None or self._loaded[0] != folder:
            self._unload()
            self._loaded = folder, self._load(folder, score)
        return self._loaded[1]

    def _unload(self) -> None:
        self._loaded = None
        free_memory()

    def _load(self, folder: Path, score: Score) -> Any:
        options: dict[str, Any] = {
            "dtype": self._how.dtype,
            "quantize": self._how.quantize,
            "attention": ATTENTION,
        }
        if folder == self._base:
            return load_model(folder, **options)
        return load_trained(folder, self._base, score=score, **options)


def trained_digest(folder: Path, base: Path) -> str:
    """Return the digest that identifies a trained model; for adapters, this digest includes the base model."""
    if not is_adapters(folder):
        return model_digest(folder)
    files = [folder / name for name in (ADAPTERS, ADAPTER_WEIGHTS)]
    return digest([model_digest(base), *map(file_digest, files)])
