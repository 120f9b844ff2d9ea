"""The function that each process of a training run on examples calls (`training.ON_EXAMPLES`)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sweet_rl_trainer.data.files import HELD_OUT, TRAIN, read
from sweet_rl_trainer.model.checkpoint import load_processor, load_tokenizer
from sweet_rl_trainer.model.load import enough_memory, load_model
from sweet_rl_trainer.model.vision import Pixels
from sweet_rl_trainer.pipeline.base import RUN, loading
from sweet_rl_trainer.pipeline.training import TASK, Task
from sweet_rl_trainer.train.run import train


def train_examples(folder: Path) -> None:
    """Train as the task file in a stage's folder specifies."""
    task = msgspec.json.decode((folder / TASK).read_bytes(), type=Task)
    base, examples = Path(task.base), Path(task.examples)
    how = loading(task.settings.precision, task.adapters)
    with enough_memory("training"):
        train(
            load_model(base, dtype=how.dtype, quantize=how.quantize, score=task.settings.score),
            read(examples / TRAIN),
            task.settings,
            folder=folder / RUN,
            origin=task.origin,
            references=None if task.references is None else Path(task.references),
            adapters=task.adapters,
            held_out=read(examples / HELD_OUT),
            tokenizer=load_tokenizer(base),
            pixels=_pixels(base, task.pictures),
        )


def _pixels(base: Path, pictures: str | None) -> Pixels | None:
    return Pixels(Path(pictures), load_processor(base).image_processor) if pictures else None
