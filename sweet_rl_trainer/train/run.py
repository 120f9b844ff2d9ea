"""A training run in a folder. A run starts in a new or empty folder, and resumes in its own folder.

FOLDER/run.json          the definition: settings, adapters, digests of all examples and of the initial model
FOLDER/checkpoint-STEP/  transformers' checkpoints
FOLDER/log.jsonl         a line for each logged step and evaluation
FOLDER/model/            the trained model (or adapters), once training is over
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate import PartialState
from msgspec import Struct

from colbench.errors import DataError, UserError
from sweet_rl_trainer.console import no_bars
from sweet_rl_trainer.data.examples import Examples, PairExample
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.model.vision import Pixels
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.train.callbacks import Alarms, LogCheckpoints, LogFile, OnConsole
from sweet_rl_trainer.train.checkpoints import last_checkpoint
from sweet_rl_trainer.train.collator import group, imitated
from sweet_rl_trainer.train.history import LOG
from sweet_rl_trainer.train.reference_cache import ReferenceCache, arithmetic, content_key
from sweet_rl_trainer.train.sharding import backend, use_cpu
from sweet_rl_trainer.train.trainer import Trainer

MODEL = "model"


class Record(Struct, frozen=True, kw_only=True):
    """The content of `run.json`. A run resumes only if this content is the same."""

    settings: TrainSettings
    examples: str
    """The `digest` of the examples to train on."""
    held_out: str
    """The `digest` of the held-out examples."""
    origin: str
    """`model.digest.model_digest` of the model that training starts from."""
    adapters: LoraSettings | None


def train(
    model: Any,
    examples: Examples,
    settings: TrainSettings,
    *,
    folder: Path,
    origin: str,
    references: Path | None = None,
    adapters: LoraSettings | None = None,
    held_out: Examples = (),
    tokenizer: Any = None,
    callbacks: Sequence[Any] = (),
    pixels: Pixels | None = None,
) -> Path:
    """Train a model, or `adapters` for it, and return the folder of the result.

    `model` is the initial model, even when a run resumes; `origin` is its digest (`model.digest.model_digest`). For
    pairs, the initial model is also the reference, whose values the folder `references` caches. For successes and value
    models, `references` must be None. The other arguments are as in `Trainer`. Under `accelerate launch`, each process
    calls this function. Raises UserError if `folder` contains another run or other files, if the model or the settings
    are unsuitable (`Trainer`), or if the loss or a gradient is not finite. Raises ValueError if `references` does not
    fit the examples.
    """
    _check_kind((*examples, *held_out), settings, referred=references is not None)
    state = PartialState(cpu=use_cpu(), backend=backend())
    record = Record(
        settings=settings,
        examples=digest(examples),
        held_out=digest(held_out),
        origin=origin,
        adapters=adapters,
    )
    with state.main_process_first():
        kept = open_folder(folder, record)
    done = folder / MODEL
    if done.is_dir():
        return done
    precision = arithmetic(settings, adapters, model.config)
    torch.manual_seed(settings.seed)
    console = OnConsole()
    try:
        with no_bars():
            trainer = Trainer(
                adapt(model, adapters) if adapters else model,
                examples,
                settings,
                folder=folder,
                reference=_cache(references, origin, precision, state.process_index),
                held_out=held_out,
                tokenizer=tokenizer,
                callbacks=[Alarms(), LogCheckpoints(), LogFile(folder / LOG), console, *callbacks],
                pixels=pixels,
            )
            trainer.fill_reference()
            trainer.train(resume_from_checkpoint=str(kept) if kept else None)
            save_whole(trainer, done)
    finally:
        console.stop()
    return done


def _cache(folder: Path | None, model: str, precision: str, writer: int) -> ReferenceCache | None:
    if folder is None:
        return None
    return ReferenceCache(folder, model=model, precision=precision, writer=writer)


def _check_kind(examples: Examples, settings: TrainSettings, *, referred: bool) -> None:
    values = settings.score == "value"
    if values and referred:
        raise ValueError("value models have no reference")
    if any(isinstance(each, PairExample) != (referred or values) for each in examples):
        raise ValueError(
            'examples: if `references` is set or settings.score is "value", pass pairs; otherwise, pass successes'
        )


def save_whole(trainer: Any, folder: Path) -> None:
    """Save the model of a transformers trainer atomically."""
    part = folder.with_name(f"{folder.name}.part")
    trainer.save_model(str(part))
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        part.rename(folder)
    trainer.accelerator.wait_for_everyone()


def digest(examples: Examples) -> str:
    """Return the SHA-256 of the examples in order: tokens, weights, pictures, and whether they are imitated."""
    whole = hashlib.sha256()
    for each in examples:
        for parts in group(each):
            whole.update(content_key(parts, "sum").encode())
        whole.update(b"\n" if imitated(each) else b" not imitated\n")
    return whole.hexdigest()


def open_folder(folder: Path, record: Struct) -> Path | None:
    """Compare `record` with the folder's record or, for a new run, write `record`. Return the last checkpoint, if any.

    Raises UserError if the folder's run has another record, if its `run.json` is damaged, or if the folder contains
    other files but no run.
    """
    path = folder / "run.json"
    part = path.with_suffix(".part")
    if path.is_file():
        try:
            before = msgspec.json.decode(path.read_bytes(), type=type(record))
        except msgspec.DecodeError as cause:
            raise DataError(f"{path}: {cause}; choose another folder") from cause
        if changed := sorted(_differences(before, record)):
            raise UserError(
                f"{folder} contains another run: {', '.join(changed)} changed; choose another "
                "folder"
            )
    elif folder.is_dir() and any(each != part for each in folder.iterdir()):
        raise UserError(f"{folder} is not empty and contains no run; choose another folder")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        part.rename(path)
    return last_checkpoint(folder)


def _differences(before: Struct, now: Struct) -> list[str]:
    ours, theirs = (
        {**each, **each["settings"]} for each in map(msgspec.to_builtins, (now, before))
    )
    return [name for name in ours if name != "settings" and ours[name] != theirs[name]]
