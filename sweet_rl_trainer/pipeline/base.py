"""The model from which training starts: an existing model, a new model, or a model that a stage exported."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from colbench.config import digest
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.runs import named
from sweet_rl_trainer.model.checkpoint import find_local, is_hub_id, load_tokenizer, resolve
from sweet_rl_trainer.model.digest import file_digest, model_digest
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.pipeline.recipe import ModelSettings, Recipe
from sweet_rl_trainer.pipeline.stage import Job, Source, Stage
from sweet_rl_trainer.settings import LoraSettings, Precision, Quantize, Shape

BASE, EXPORT = "base", "export"
"""Names of the stages that create a base model and export a policy."""
MODEL = "model"
"""Name of the subfolder of a stage's folder that contains a model."""
RUN = "run"
"""Name of the subfolder of a stage's folder that contains a run of dialogues or a training run."""
REFERENCES = "references"
"""Name of the folder, next to the stages' folders, that contains the cached values of reference models."""
PICTURES = "pictures"
"""Name of the folder, next to the stages' folders, that contains the pictures of pages."""
SMALL = ("*.json", "*.txt", "*.jinja", "*.model")
"""Files of a checkpoint other than its weights."""
STUDY_BASE = re.compile(r"training/study-(?P<world>[\w-]+)/base")
"""Path of the base model that a study creates in its default folder."""


def base(recipe: Recipe, *, offline: bool = False) -> Stage | Source:
    """Return the model from which a recipe starts; with `offline`, a model on the Hub is not downloaded."""
    if recipe.model.tiny is None:
        return checkpoint(recipe.model.name, offline=offline)
    shape = recipe.model.tiny
    texts = content(shape.texts)
    settings = [shape, texts] if texts else shape
    return Stage(name=BASE, act=lambda job: make(job, shape), settings=settings)


def content(source: str) -> str:
    """Return the digest of the file that a source names; "" if it names no file."""
    path = os.path.expanduser(source.removeprefix("file:"))
    return file_digest(Path(path)) if os.path.isfile(path) else ""


def checkpoint(name: str, *, offline: bool = False, flag: str = "--model") -> Source:
    """Return the source of a model, whose name is a folder or a Hub ID.

    With `offline`, nothing is downloaded: a model that is not on this machine becomes a source without a path. If its
    name is not a Hub ID, `Source.missing` tells the user to choose another model with `flag`. Without `offline`, raises
    UserError if the model cannot be found.
    """
    folder = find_local(name) if offline else resolve(name)
    if folder is None:
        absent = "" if is_hub_id(name) else _absent(name, flag)
        return Source(path=None, key=digest(name), missing=absent)
    return Source(path=folder, key=digest([model_digest(folder), tokenizer_digests(folder)]))


def _absent(name: str, flag: str) -> str:
    """Return advice for a folder that does not exist."""
    said = (
        f"model {name!r}: neither an existing folder nor a Hub ID (OWNER/NAME, "
        f"OWNER/NAME@REVISION); choose another model with {flag}"
    )
    if study := STUDY_BASE.fullmatch(name):
        said += f", or create this model:\n  sweet-rl study --world {study['world']} --only zero-shot --seeds 1"
    return said


def tokenizer_digests(folder: Path) -> dict[str, str]:
    """Return the digests of a model's files except weights.

    Any of these files may belong to the tokenizer or chat template.
    """
    found = sorted(path for pattern in SMALL for path in folder.glob(pattern))
    return {path.name: file_digest(path) for path in found}


def make(job: Job, shape: Shape) -> dict[str, Any]:
    """Create a small model with random weights."""
    texts = [
        text
        for task in named(shape.texts)
        for text in (
            task.request,
            task.hidden.reference,
            *(fact.statement for fact in task.hidden.facts),
        )
    ]
    build(job.folder / MODEL, shape, texts)
    return {"model": model_digest(job.folder / MODEL)}


def model_in(place: Path) -> Path:
    """Return the subfolder `model` of a stage's output; if it does not exist, return the given folder itself."""
    return place / MODEL if (place / MODEL).is_dir() else place


def trained(folder: Path) -> Path:
    """Return the folder with the result of a training stage."""
    return folder / RUN / "model"


def chat_of(folder: Path, settings: ModelSettings) -> Chat:
    """Load a model's tokenizer with its chat template. Raises DataError if the tokenizer has no chat template."""
    return Chat(load_tokenizer(folder), template_args=settings.template_args)


class Loading(Struct, frozen=True, kw_only=True):
    """The way in which a model is loaded, both for training and for scoring."""

    dtype: Precision
    quantize: Quantize | None


def loading(precision: Precision, lora: LoraSettings | None) -> Loading:
    """Return how to load a model: in float32 to train all weights, or in `precision` to train only adapters."""
    return Loading(dtype=precision if lora else "float32", quantize=lora.quantize if lora else None)
