"""From trajectories to examples: what critic, multi-turn DPO and RFT are trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import DataError
from sweet_rl_trainer.chat import Chat
from sweet_rl_trainer.collator import Examples
from sweet_rl_trainer.examples import Report, Side, pair_examples, success_examples
from sweet_rl_trainer.pairs import make_pairs
from sweet_rl_trainer.privileged import Template
from sweet_rl_trainer.recipe import CriticSettings, MtdpoSettings, Recipe, RftSettings
from sweet_rl_trainer.stages import files
from sweet_rl_trainer.stages.base import chat_of, model_in
from sweet_rl_trainer.stages.data import Data, load
from sweet_rl_trainer.stages.sample import check_prompts
from sweet_rl_trainer.stages.stage import Job
from sweet_rl_trainer.trajectories import Trajectory

Table = CriticSettings | MtdpoSettings | RftSettings


class Made(Struct, frozen=True, kw_only=True):
    """Examples of both sides and what there is to say of them."""

    train: Examples
    held_out: Examples
    report: Report
    """Of those to train on."""
    without: dict[str, int]
    """Tasks without a pair, by reason."""


def make(job: Job, recipe: Recipe, table: Table) -> dict[str, Any]:
    """Write the examples that the stage's training needs."""
    data = load(recipe.data, job.inputs)
    if isinstance(table, CriticSettings):
        check_prompts(data, recipe)
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)
    made = examples(data, chat, table)
    files.write(job.folder / files.TRAIN, made.train)
    files.write(job.folder / files.HELD_OUT, made.held_out)
    return {
        "dialogues": len(data.train) + len(data.held_out) + len(data.privileged),
        **said(made),
        "left out": data.dropped,
    }


def said(made: Made) -> dict[str, Any]:
    """What a report says of examples."""
    found = msgspec.to_builtins(made.report)
    return {**found, "held_out": len(made.held_out), "tasks_without": made.without}


def examples(data: Data, chat: Chat, table: Table) -> Made:
    """The examples of both sides. Raises DataError if there is none to train on; the held-out side may have none."""
    without = Counter[str]()
    train, report = _side(data.train, data.negatives, chat, table, without)
    if isinstance(table, RftSettings):
        train = [*train, *_privileged(data.privileged, chat, table)]
    try:
        held_out, _ = _side(data.held_out, [], chat, table, Counter())
    except DataError:
        held_out = []
    return Made(train=train, held_out=held_out, report=report, without=dict(without))


def _side(
    trajectories: Sequence[Trajectory],
    negatives: Sequence[Trajectory],
    chat: Chat,
    table: Table,
    without: Counter[str],
) -> tuple[Examples, Report]:
    if isinstance(table, RftSettings):
        return success_examples(
            trajectories, chat, at_least=table.at_least, max_length=table.max_length
        )
    pairs = make_pairs(
        trajectories,
        table.pairs.rule,
        margin=table.pairs.margin,
        match_turns=table.pairs.match_turns,
        limit_negatives=[*trajectories, *negatives] if table.pairs.limit_negatives else negatives,
        without=without,
    )
    return pair_examples(
        pairs, chat, table.token_weights, privileged=template_of(table), max_length=table.max_length
    )


def _privileged(
    trajectories: Sequence[Trajectory], chat: Chat, table: RftSettings
) -> Iterator[Side]:
    """Yield the examples that are imitated with c stated first."""
    count = len(table.privileged)
    for number, template in enumerate(table.privileged):
        if share := trajectories[number::count]:
            yield from success_examples(
                share,
                chat,
                at_least=table.at_least,
                privileged=template,
                max_length=table.max_length,
            )[0]


def template_of(table: CriticSettings | MtdpoSettings) -> Template | None:
    """Return the template that states c to the model that is trained; None if it does not see c."""
    if isinstance(table, MtdpoSettings) or table.privileged == "none":
        return None
    return table.privileged
