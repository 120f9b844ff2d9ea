"""Scores of the candidates, and pairs of them for the actor.

FOLDER/scored.jsonl                        each turn's candidates and their scores
FOLDER/train.msgpack, held_out.msgpack     the pairs (`stages.files`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.errors import DataError, UserError
from sweet_rl_trainer.chat import Chat
from sweet_rl_trainer.critic.returns import score_by_returns
from sweet_rl_trainer.examples import PairExample
from sweet_rl_trainer.ranking.calibrate import offset, shifted
from sweet_rl_trainer.ranking.choose import chosen_pairs
from sweet_rl_trainer.ranking.score import Scored, score_candidates
from sweet_rl_trainer.ranking.turns import Candidates, Reply, Turn
from sweet_rl_trainer.recipe import Recipe
from sweet_rl_trainer.stages import files
from sweet_rl_trainer.stages.base import chat_of, model_in
from sweet_rl_trainer.stages.data import load
from sweet_rl_trainer.stages.data import tasks as tasks_of
from sweet_rl_trainer.stages.examples import template_of
from sweet_rl_trainer.stages.played import continuations
from sweet_rl_trainer.stages.sample import read
from sweet_rl_trainer.stages.scorers import Scorers
from sweet_rl_trainer.stages.stage import Job
from sweet_rl_trainer.stages.training import REFERENCES, trained
from sweet_rl_trainer.trajectories import Trajectory

SCORED = "scored.jsonl"
CRITIC = "critic"


class Line(Struct, frozen=True, kw_only=True):
    """A line of `scored.jsonl`."""

    trajectory: str
    turn: int
    replies: tuple[str, ...]
    scores: tuple[float | None, ...]
    lengths: tuple[int, ...]


def rank(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Score all candidates, and choose the pairs of both sides."""
    data = load(recipe.data, job.inputs)
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)
    dropped = Counter[str]()
    candidates = read(job.inputs["candidates"], data.by_id)
    score = _by_returns if recipe.rank.scores == "returns" else _by_model
    scored = score(candidates, job, recipe, chat, dropped)
    inside = {each.id for each in data.train}
    calibrated = {}
    if recipe.rank.calibrate:
        calibrated["offset"] = _offset(scored, inside)
        scored = shifted(scored, calibrated["offset"])
    _write(job.folder / SCORED, scored)
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
    said = {"turns": len(scored), "pairs": len(train), "held_out": len(held_out)}
    tokens = sum(side.tokens for pair in train for side in (pair.chosen, pair.rejected))
    return {**said, **calibrated, "tokens": tokens, "left out": dict(dropped)}


def _by_model(
    candidates: list[Candidates], job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> list[Scored]:
    base = model_in(job.inputs["model"])
    with Scorers(recipe, base, job.shared / REFERENCES) as scorers:
        critic = scorers.critic(trained(job.inputs[CRITIC])) if CRITIC in job.inputs else None
        return score_candidates(
            candidates,
            chat,
            recipe.rank.scores,
            reference=scorers.reference(),
            critic=critic,
            privileged=template_of(recipe.critic) or "preamble",
            budget=recipe.rank.row_tokens,
            max_length=recipe.critic.max_length,
            dropped=dropped,
        )


def _by_returns(
    candidates: list[Candidates], job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> list[Scored]:
    tasks = tasks_of(recipe.data, job.inputs)
    count, played = recipe.rank.continuations, continuations(job)
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
    return chosen_pairs(
        scored,
        chat,
        recipe.rank.pairs,
        token_weights=recipe.actor.token_weights,
        pairs_per_turn=recipe.rank.pairs_per_turn,
        margin=recipe.rank.margin,
        seed=recipe.rank.seed,
        max_length=recipe.actor.max_length,
        dropped=dropped,
    )


def read_scored(folder: Path, trajectories: Mapping[str, Trajectory]) -> list[Scored]:
    """The candidates of these trajectories, with their scores."""
    decoder = msgspec.json.Decoder(Line)
    lines = map(decoder.decode, (folder / SCORED).read_bytes().splitlines())
    return [
        Scored(
            candidates=Candidates(
                turn=Turn(trajectory=trajectories[line.trajectory], number=line.turn),
                replies=tuple(Reply(text=text) for text in line.replies),
            ),
            scores=line.scores,
            lengths=line.lengths,
        )
        for line in lines
        if line.trajectory in trajectories
    ]


def _write(path: Path, scored: Iterable[Scored]) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for each in scored:
            line = Line(
                trajectory=each.candidates.turn.trajectory.id,
                turn=each.candidates.turn.number,
                replies=tuple(reply.text for reply in each.candidates.replies),
                scores=each.scores,
                lengths=each.lengths,
            )
            file.write(msgspec.json.encode(line) + b"\n")
    part.rename(path)
