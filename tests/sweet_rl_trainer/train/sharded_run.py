"""Training runs for `test_sharding.py`, in any number of processes: `sharded_run.py FOLDER`.

FOLDER/whole/run      two steps, an evaluation and a checkpoint, and a third step
FOLDER/cut/run        the same, stopped after its second step and resumed
FOLDER/narrow/run     one step in bfloat16, with a row for each pair
FOLDER/adapters/run   as `whole`, with adapters on bfloat16 and a row for each pair
FOLDER/exact-adapters/run   as `whole`, with adapters, all in float32
"""

from __future__ import annotations

import sys
from pathlib import Path

import conftest
import test_trainer as t
from accelerate import PartialState

from sweet_rl_trainer.settings import LoraSettings

LARGE = {"vocab_size": 3200, "intermediate_size": 3200}
"""Sizes of weights that ZeRO-3 shards. It keeps weights of fewer than 100,000 numbers in every process."""


class RecordWeights(t.StopAt):
    """A callback that writes the class and size of the embedding's weights during training."""

    def __init__(self, path):
        super().__init__(0)
        self.path = path

    def on_step_end(self, args, state, control, model=None, **_):
        weight = model.get_input_embeddings().weight
        self.path.write_text(f"{type(weight).__name__} {hasattr(weight, 'ds_id')} {weight.numel()}")


class RecordGradients(t.TrainerCallback):
    """A callback that writes the class of the embedding's gradient before each row of the last step."""

    def __init__(self, path):
        self.path = path
        self.kinds = []

    def on_step_begin(self, args, state, control, model=None, **_):
        weight = model.get_input_embeddings().weight
        self.kinds.clear()
        model.register_forward_pre_hook(lambda *_: self.kinds.append(type(weight.grad).__name__))

    def on_step_end(self, args, state, control, **_):
        self.path.write_text(" ".join(self.kinds))


def three_steps(model, folder, *callbacks, **changes):
    """Train on rows that two processes cannot split evenly; the last row has one pair."""
    return t.run(
        model,
        t.pairs(7),
        folder / "run",
        held_out=t.pairs(3, seed=1),
        callbacks=callbacks,
        **{"epochs": 1, "learning_rate": 1e-3, **changes},
    )


def main(folder):
    make = conftest.make_model.__wrapped__()
    models = [
        make(**LARGE) for _ in range(6)
    ]  # before ZeRO-3 is active, which would shard them at once
    three_steps(models[0], folder / "whole", RecordWeights(folder / "kind.txt"))
    stopped = three_steps(models[1], folder / "cut", t.StopAt(2))
    PartialState().wait_for_everyone()
    if PartialState().is_main_process:
        stopped.rename(folder / "cut" / "stopped")
    PartialState().wait_for_everyone()
    three_steps(models[2], folder / "cut")
    narrow = {"precision": "bfloat16", "row_tokens": 1}
    between = RecordGradients(folder / "gradients.txt")
    three_steps(models[3], folder / "narrow", between, max_steps=1, **narrow)
    frozen = models[4].bfloat16()
    three_steps(frozen, folder / "adapters", adapters=LoraSettings(rank=4), **narrow)
    three_steps(models[5], folder / "exact-adapters", adapters=LoraSettings(rank=4))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
