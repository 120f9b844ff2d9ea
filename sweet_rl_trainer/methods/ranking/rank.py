"""The stage that scores the candidates, and pairs them for the actor.

FOLDER/scored.jsonl                        each turn's candidates and their scores
FOLDER/train.msgpack, held_out.msgpack     the pairs (`data.files`)
FOLDER/shown.json                          a few of them with their words (`pipeline.view`)

A critic that sees is shown the candidates' pages, whose pictures are next to those that it was trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from colbench.errors import DataError, UserError
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import PairExample, Side
from sweet_rl_trainer.data.token_weights import Rule as WeightRule
from sweet_rl_trainer.methods.ranking.calibrate import offset, shifted
from sweet_rl_trainer.methods.ranking.choose import CANDIDATE, Rule, chosen_pairs
from sweet_rl_trainer.methods.ranking.files import read_sampled, write_scored
from sweet_rl_trainer.methods.ranking.returns import score_by_returns
from sweet_rl_trainer.methods.ranking.score import Preset, score_candidates
from sweet_rl_trainer.methods.ranking.scorers import CriticSettings, Scorers, template_of
from sweet_rl_trainer.methods.ranking.turns import Candidates, Scored
from sweet_rl_trainer.methods.ranking.vision import BASE, Sight
from sweet_rl_trainer.pipeline.base import PICTURES, REFERENCES, chat_of, model_in, trained
from sweet_rl_trainer.pipeline.dialogues import continuations
from sweet_rl_trainer.pipeline.inputs import load
from sweet_rl_trainer.pipeline.inputs import tasks as tasks_of
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known
from sweet_rl_trainer.pipeline.view import ShownPair, ShownSide, spread, write_examples
from sweet_rl_trainer.settings import Count, NotNegative, TrainSettings

CRITIC = "critic"


class RankSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores, and pairs of replies by them."""

    scores: Preset = "critic"
    continuations: Count = 8
    """Dialogues that the first run's agent continues after each candidate, if scores are `returns`."""
    pairs: Rule = "halves"
    pairs_per_turn: Count = 4
    """Paper."""
    margin: NotNegative = 0.0
    calibrate: bool = False
    """Shift the scores of answers by what came of the recorded ones (`calibrate`). Ours."""
    seed: int = 0
    row_tokens: Count = 16_384
    """Tokens that are scored at once, the unit of memory."""


class ActorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phase 2: DPO on the pairs of replies."""

    train: TrainSettings
    token_weights: WeightRule = "sum"
    max_length: Count = 16_384
    """Tokens; a pair with a longer reply and context is left out. Paper."""


def rank(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Score all candidates, and choose the pairs of both sides."""
    settings = recipe.table(RankSettings)
    data = load(recipe.data, job.inputs)
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)
    dropped = Counter[str]()
    candidates = read_sampled(job.inputs["candidates"], data.by_id)
    score = _by_returns if settings.scores == "returns" else _by_model
    scored = score(candidates, job, recipe, chat, dropped)
    inside = {each.id for each in data.train}
    calibrated = {}
    if settings.calibrate:
        calibrated["offset"] = _offset(scored, inside)
        scored = shifted(scored, calibrated["offset"])
    write_scored(job.folder, scored)
    sides = [
        [each for each in scored if (each.candidates.turn.trajectory.id in inside) == wanted]
        for wanted in (True, False)
    ]
    train = _pairs(sides[0], recipe, chat, dropped)
    try:
        held_out = _pairs(sides[1], recipe, chat, Counter())
    except DataError:
        held_out = []
    files.write(job.folder / files.TRAIN, train)
    files.write(job.folder / files.HELD_OUT, held_out)
    write_examples(job.folder, map(partial(_shown, turns=_by_name(scored)), spread(train)))
    said = {"turns": len(scored), "pairs": len(train), "held_out": len(held_out)}
    tokens = sum(side.tokens for pair in train for side in (pair.chosen, pair.rejected))
    return {**said, **calibrated, "tokens": tokens, "left out": dict(dropped)}


def _by_name(scored: Iterable[Scored]) -> dict[str, Candidates]:
    return {each.candidates.turn.name: each.candidates for each in scored}


def _shown(pair: PairExample, turns: Mapping[str, Candidates]) -> ShownPair:
    turn = turns[pair.chosen.trajectory.rpartition(CANDIDATE)[0]].turn
    return ShownPair(
        chosen=_shown_side(pair.chosen, turns),
        rejected=_shown_side(pair.rejected, turns),
        context=turn.trajectory.context(turn.number)[-1].content,
    )


def _shown_side(side: Side, turns: Mapping[str, Candidates]) -> ShownSide:
    name, _, number = side.trajectory.rpartition(CANDIDATE)
    text = turns[name].replies[int(number) - 1].text
    return ShownSide(name=side.trajectory, score=side.reward, tokens=side.reply_tokens, text=text)


def estimate(known: Known, recipe: Recipe) -> Amount:
    """Return the number of pairs; before the stage is run, an upper bound (`Stage.estimate`)."""
    if known.said:
        return Amount(examples=known.said["pairs"], tokens=known.said["tokens"])
    turns = known.amounts["candidates"].examples
    if turns is None:
        return Amount()
    return Amount(examples=turns * recipe.table(RankSettings).pairs_per_turn, most=True)


def _by_model(
    candidates: list[Candidates], job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> list[Scored]:
    settings, table = recipe.table(RankSettings), recipe.table(CriticSettings)
    if BASE in job.inputs:
        return _by_sight(candidates, job, recipe, dropped)
    base = model_in(job.inputs["model"])
    with Scorers(recipe, base, job.shared / REFERENCES) as scorers:
        critic = scorers.critic(trained(job.inputs[CRITIC])) if CRITIC in job.inputs else None
        return score_candidates(
            candidates,
            chat,
            settings.scores,
            reference=scorers.reference(),
            critic=critic,
            privileged=template_of(table) or "preamble",
            budget=settings.row_tokens,
            max_length=table.max_length,
            dropped=dropped,
        )


def _by_sight(
    candidates: list[Candidates], job: Job, recipe: Recipe, dropped: Counter[str]
) -> list[Scored]:
    """Return the scores of a critic that sees pages."""
    settings, table = recipe.table(RankSettings), recipe.table(CriticSettings)
    assert table.vision  # noqa: S101
    base, pictures = job.inputs[BASE], job.shared / PICTURES
    sight = Sight(table.vision, recipe.domain, base, pictures)
    sight.take_candidates(candidates)
    dropped.update(sight.unseen)
    with Scorers(recipe, base, job.shared / REFERENCES, pictures) as scorers:
        return score_candidates(
            candidates,
            sight.chat,
            settings.scores,
            critic=scorers.critic(trained(job.inputs[CRITIC])),
            budget=settings.row_tokens,
            max_length=table.max_length,
            dropped=dropped,
        )


def _by_returns(
    candidates: list[Candidates], job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> list[Scored]:
    tasks = tasks_of(recipe.data, job.inputs)
    count, played = recipe.table(RankSettings).continuations, continuations(job)
    return score_by_returns(candidates, tasks, chat, played, count=count, dropped=dropped)


def _offset(scored: Iterable[Scored], inside: Collection[str]) -> float:
    """By the dialogues that are trained on."""
    found = offset(each for each in scored if each.candidates.turn.trajectory.id in inside)
    if found is None:
        raise UserError(
            "rank.calibrate: the turns at which dialogues answered do not tell when to (successes, failures and other "
            "candidates are needed); set it to false"
        )
    return found


def _pairs(
    scored: list[Scored], recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> list[PairExample]:
    settings, actor = recipe.table(RankSettings), recipe.table(ActorSettings)
    return chosen_pairs(
        scored,
        chat,
        settings.pairs,
        token_weights=actor.token_weights,
        pairs_per_turn=settings.pairs_per_turn,
        margin=settings.margin,
        seed=settings.seed,
        max_length=actor.max_length,
        dropped=dropped,
    )
