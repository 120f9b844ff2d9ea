"""Training a critic that sees pages: the stage that makes its examples, and the estimate of its training.

OUT/pictures/NAME.png     the pictures of all examples, shrunk (`data.pictures`)

As for every critic, the examples are pairs of dialogues. The processor of the critic's own model encodes them. Each
pair has its own row, padded to the length of the pair's longer dialogue. Examples contain the pictures' digests, so
another browser may produce other examples, although the key of the stage stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.tokens import DialogueEncoder
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings, VisionSettings
from sweet_rl_trainer.methods.ranking.vision import BASE, Sight, unseen_chat
from sweet_rl_trainer.model.memory_estimate import tower_activations
from sweet_rl_trainer.pipeline import training
from sweet_rl_trainer.pipeline.base import PICTURES
from sweet_rl_trainer.pipeline.examples import TrainingData, count, write
from sweet_rl_trainer.pipeline.inputs import Data, load
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known

SEEN = 11
"""Number of pictures in a dialogue that the memory estimate assumes: the hidden page, and one for each of ten turns."""
PATCH = 14 * 14
"""Number of pixels in a patch."""
Maker = Callable[[Data, DialogueEncoder | Chat], TrainingData]
"""A function that makes the examples. Raises DataError if no example remains to train on."""


def make(job: Job, recipe: Recipe, maker: Maker) -> dict[str, Any]:
    """Render the pages of all dialogues, and write the examples that `maker` builds from them."""
    data = load(recipe.data, job.inputs)
    sight = Sight(_vision(recipe), recipe.domain, job.inputs[BASE], job.shared / PICTURES)
    sight.take([*data.train, *data.held_out, *data.negatives])
    return {**write(job, data, maker(data, sight.chat)), **sight.unseen}


def estimate(known: Known, recipe: Recipe, maker: Maker) -> Amount:
    """Return the numbers of pairs and of tokens (`Stage.estimate`).

    Every picture is counted as if it had the maximum size. Without the critic's model, pictures are not counted.
    """
    seen = BASE in known.inputs
    return count(
        known,
        recipe,
        maker,
        partial(unseen_chat, _vision(recipe)),
        model=BASE,
        exact=False,
        note="every picture is counted as the largest"
        if seen
        else "tokens of pictures are not counted",
    )


def estimate_training(known: Known, recipe: Recipe) -> Amount:
    """Return the steps, the tokens and the memory of the critic's training (`Stage.estimate`)."""
    table = recipe.table(CriticSettings)
    settings = replace(table.train, row_tokens=2 * table.max_length)
    name = _vision(recipe).model
    found = training.estimate(known, settings, recipe, name)
    if found.memory is not None and (size := training.size_by(known, name)):
        patches = 2 * SEEN * _vision(recipe).max_pixels // PATCH
        found.memory += tower_activations(size, settings, recipe.lora, patches)
    return found


def _vision(recipe: Recipe) -> VisionSettings:
    found = recipe.table(CriticSettings).vision
    assert found  # noqa: S101
    return found
