"""Stages that convert trajectories to training examples.

FOLDER/train.msgpack, held_out.msgpack    the training and the held-out examples (`data.files`)
FOLDER/shown.json                         a few examples to display (`view`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import DataError
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.estimated_chat import EstimatedChat
from sweet_rl_trainer.data.examples import (
    Examples,
    NothingLeftError,
    PairExample,
    Report,
    Side,
    pair_examples,
)
from sweet_rl_trainer.data.pairs import PairSettings, make_pairs
from sweet_rl_trainer.data.privileged import Template
from sweet_rl_trainer.data.token_weights import Rule as WeightRule
from sweet_rl_trainer.data.tokens import DialogueEncoder
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.pipeline import missing
from sweet_rl_trainer.pipeline.base import chat_of, model_in
from sweet_rl_trainer.pipeline.inputs import Data, load, run_folders
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known
from sweet_rl_trainer.pipeline.view import ShownPair, ShownSide, spread, write_examples


class TrainingData(Struct, frozen=True, kw_only=True):
    """The data of a training run: training and held-out examples."""

    train: Examples
    held_out: Examples
    report: Report
    """Report on the examples to train on."""
    without: dict[str, int] = {}
    """Number of tasks without a pair, by reason."""


UNFIT = "unsuitable as held-out examples"
"""The reason that a summary gives for leaving out a held-out dialogue."""
Maker = Callable[[Data, Chat], TrainingData]
"""A function that makes a method's examples from dialogues. Raises DataError if nothing is left to train on."""
MakeSide = Callable[[Sequence[Trajectory]], tuple[Examples, Report]]
"""A function that converts trajectories to examples. Raises DataError if no example is left."""


def make(job: Job, recipe: Recipe, maker: Maker) -> dict[str, Any]:
    """Write the examples that a training run needs."""
    data = load(recipe.data, job.inputs)
    return write(job, data, maker(data, chat_of(model_in(job.inputs["model"]), recipe.model)))


def write(job: Job, data: Data, made: TrainingData) -> dict[str, Any]:
    """Write the training and held-out examples, and return a summary."""
    files.write(job.folder / files.TRAIN, made.train)
    files.write(job.folder / files.HELD_OUT, made.held_out)
    shown: Sequence[PairExample | Side] = made.train
    write_examples(job.folder, map(_shown, spread(shown)))
    return {
        "dialogues": len(data.train) + len(data.held_out) + len(data.privileged),
        **summary(made),
        "left out": data.dropped,
    }


def _shown(example: PairExample | Side) -> ShownPair:
    if isinstance(example, Side):
        return ShownPair(chosen=_shown_side(example))
    return ShownPair(chosen=_shown_side(example.chosen), rejected=_shown_side(example.rejected))


def _shown_side(side: Side) -> ShownSide:
    return ShownSide(
        name=side.trajectory, score=side.reward, tokens=side.reply_tokens, turns=side.turns
    )


def summary(made: TrainingData) -> dict[str, Any]:
    """Return the numbers of examples, tokens and tasks."""
    found = msgspec.to_builtins(made.report)
    return {**found, "held_out": len(made.held_out), "tasks_without": made.without}


def estimate(known: Known, recipe: Recipe, maker: Maker) -> Amount:
    """Return the number of examples and tokens of the stage, for `Stage.estimate`.

    If the model is not available yet, the number of tokens is an estimate.
    """
    return count(known, recipe, maker, lambda base: chat_of(model_in(base), recipe.model))


def count(
    known: Known,
    recipe: Recipe,
    maker: Callable[[Data, Any], TrainingData],
    chat: Callable[[Path], Chat | DialogueEncoder],
    *,
    model: str = "model",
    exact: bool = True,
    note: str = "",
) -> Amount:
    """Return the number of examples and tokens, as far as they are known.

    Args:
        known: What is known about the stage.
        recipe: The recipe.
        maker: Function that returns the examples, given the dialogues and the chat template.
        chat: Function that returns the chat template, given a model's folder. Without the model, tokens are estimated.
        model: Name of the stage's input that contains the model that reads the examples.
        exact: False if `chat` overestimates tokens. It is then a note, not an error, if all dialogues seem too long.
        note: Text to put before the reasons why examples are left out.
    """
    if known.said:
        return Amount(examples=known.said["taken"], tokens=known.said["tokens"])
    if known.absent - {"model", model}:
        return Amount(note="known once dialogues exist")
    if known.waits:
        return Amount(note="known after the dialogues are collected")
    base = known.inputs.get(model)
    try:
        made = maker(load(recipe.data, known.inputs), chat(base) if base else EstimatedChat())
    except DataError as cause:
        if not (base and exact) and isinstance(cause, NothingLeftError) and cause.too_long:
            return Amount(note=str(cause), about=base is None)
        return Amount(missing=missing.unfit_dialogues(cause, run_folders(known.inputs)))
    left = {**made.report.dropped, **made.without}
    notes = [note] if note else []
    return Amount(
        examples=made.report.taken,
        tokens=made.report.tokens,
        about=base is None,
        note=", ".join([*notes, *(f"{reason}: {number}" for reason, number in left.items())]),
    )


def of_both_sides(data: Data, make_side: MakeSide) -> TrainingData:
    """Return the examples that `make_side` makes of the training dialogues and of the held-out dialogues.

    `make_side` makes at most one example of a dialogue. The report counts the held-out dialogues without an example as
    `UNFIT`. The held-out examples may be empty. Raises DataError if the training examples are empty.
    """
    train, report = make_side(data.train)
    held_out = or_none(lambda: make_side(data.held_out)[0])
    if unfit := len(data.held_out) - len(held_out):
        report = replace(report, dropped={**report.dropped, UNFIT: unfit})
    return TrainingData(train=train, held_out=held_out, report=report)


def paired(
    data: Data,
    chat: Chat | DialogueEncoder,
    *,
    pairs: PairSettings,
    token_weights: WeightRule,
    privileged: Template | None = None,
    max_length: int,
) -> TrainingData:
    """Return pairs of whole dialogues as training data. Raises DataError if no pair is left to train on."""
    without = Counter[str]()

    def side(
        trajectories: Sequence[Trajectory], negatives: Sequence[Trajectory], lost: Counter[str]
    ) -> tuple[Examples, Report]:
        found = make_pairs(
            trajectories,
            pairs.rule,
            margin=pairs.margin,
            match_turns=pairs.match_turns,
            limit_negatives=[*trajectories, *negatives] if pairs.limit_negatives else negatives,
            without=lost,
        )
        return pair_examples(
            found, chat, token_weights, privileged=privileged, max_length=max_length
        )

    train, report = side(data.train, data.negatives, without)
    held_out = or_none(lambda: side(data.held_out, [], Counter())[0])
    return TrainingData(train=train, held_out=held_out, report=report, without=dict(without))


def or_none(make_examples: Callable[[], Examples]) -> Examples:
    """Return the examples; an empty list if `make_examples` raises DataError."""
    try:
        return make_examples()
    except DataError:
        return []
