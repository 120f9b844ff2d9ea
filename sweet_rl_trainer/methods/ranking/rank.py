"""The stage that scores the candidates, and pairs them for the actor.

FOLDER/scored.jsonl                        each turn's candidates with their scores
FOLDER/train.msgpack, held_out.msgpack     the pairs or, with the actor's loss "nll", the chosen replies (`data.files`)
FOLDER/shown.json                          a few of the pairs, as text (`pipeline.view`)

A critic that sees pages is shown the candidates' pages. Their pictures are stored in the folder that also has the
pictures from the critic's training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from colbench.errors import UserError
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Examples, PairExample, Side
from sweet_rl_trainer.methods.ranking.answers import AnswerShares
from sweet_rl_trainer.methods.ranking.calibrate import offset, shifted
from sweet_rl_trainer.methods.ranking.choose import (
    CANDIDATE,
    no_pairs,
    turn_examples,
)
from sweet_rl_trainer.methods.ranking.consequences import score_by_consequences
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings, template_of
from sweet_rl_trainer.methods.ranking.files import SampledFile, write_scored
from sweet_rl_trainer.methods.ranking.potentials import Ends, ends_of, potential
from sweet_rl_trainer.methods.ranking.rank_settings import ActorSettings, RankSettings
from sweet_rl_trainer.methods.ranking.returns import score_by_returns
from sweet_rl_trainer.methods.ranking.score import Consequences, score_turns
from sweet_rl_trainer.methods.ranking.turns import Candidates, Scored, Scores
from sweet_rl_trainer.methods.ranking.vision import BASE, Sight
from sweet_rl_trainer.pipeline.base import PICTURES, REFERENCES, chat_of, model_in, trained
from sweet_rl_trainer.pipeline.dialogues import continuations
from sweet_rl_trainer.pipeline.inputs import load
from sweet_rl_trainer.pipeline.inputs import tasks as tasks_of
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known
from sweet_rl_trainer.pipeline.view import COUNT, ShownPair, ShownSide, write_examples

CRITIC = "critic"
SAY_ONCE = "blank"
"""The built-in agent that continues a dialogue after a candidate.

It immediately ends the dialogue with a blank answer.
"""


class Ranked:
    """Candidates with their scores; only the scores are in memory. Turns without scores are left out."""

    def __init__(self, candidates: Iterable[Candidates], scores: Sequence[Scores | None]) -> None:
        self._candidates = candidates
        self._scores = scores

    def __iter__(self) -> Iterator[Scored]:
        for each, scores in zip(self._candidates, self._scores, strict=True):
            if scores:
                yield scores.of(each)


def rank(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Score all candidates, write the training and held-out pairs, and return a summary.

    Raises DataError if no pair is left to train on, and UserError if the scores cannot be computed, scaled or
    calibrated.
    """
    settings = recipe.table(RankSettings)
    data = load(recipe.data, job.inputs)
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)
    dropped = Counter[str]()
    candidates = SampledFile(job.inputs["candidates"], data.by_id)
    inside = {each.id for each in data.train}
    calibrated = dict[str, float]()
    match settings.scores:
        case "returns":
            scores = _by_returns(candidates, job, recipe, chat, dropped)
        case "facts" | "gain":
            scores, calibrated = _by_consequences(
                candidates, job, recipe, chat, dropped, scores=settings.scores, inside=inside
            )
        case _:
            scores = _by_model(candidates, job, recipe, chat, dropped)
    ranked: Iterable[Scored] = Ranked(candidates, scores)
    if settings.calibrate:
        calibrated["offset"] = _offset(ranked, inside)
        ranked = shifted(ranked, calibrated["offset"])
    pairing = _Pairing(recipe, chat, inside, len(candidates))
    with (
        files.writing(job.folder / files.TRAIN) as train,
        files.writing(job.folder / files.HELD_OUT) as held_out,
    ):
        write_scored(job.folder, pairing.written(ranked, train, held_out))
        pairing.check(dropped)
    write_examples(job.folder, pairing.shown[:COUNT])
    said = {"turns": pairing.turns, "pairs": pairing.pairs, "held_out": pairing.held_out}
    return {
        **said,
        **calibrated,
        **pairing.answers.said(),
        "tokens": pairing.tokens,
        "left out": dict(+(dropped + pairing.dropped)),
    }


class _Pairing:
    """A writer that writes the pairs of each turn, one turn after another, and counts the pairs."""

    def __init__(self, recipe: Recipe, chat: Chat, inside: Collection[str], turns: int) -> None:
        self._chat = chat
        self._inside = inside
        self._settings = recipe.table(RankSettings)
        self._actor = recipe.table(ActorSettings)
        self.turns = self.pairs = self.held_out = self.tokens = 0
        self._to_train = 0
        """Number of scored turns of training dialogues."""
        self.shown: list[ShownPair] = []
        self.answers = AnswerShares()
        self._every = max(1, turns // COUNT)
        self.dropped = Counter[str]()
        """Numbers of turns and pairs that are left out of training, by reason."""

    def written(
        self, turns: Iterable[Scored], train: files.Writer, held_out: files.Writer
    ) -> Iterator[Scored]:
        """Yield the turns, each after its examples have been written."""
        for each in turns:
            self.turns += 1
            if each.candidates.turn.trajectory.id in self._inside:
                self._to_train += 1
                found = self._examples(each, self.dropped)
                self.pairs += len(found)
                self.tokens += sum(side.tokens for one in found for side in _sides(one))
                train.add(found)
                self._count_answers(found, each.candidates)
                if found and self.turns % self._every == 1 % self._every:
                    self.shown.append(_shown(found[0], each.candidates))
            else:
                found = self._examples(each, Counter())
                self.held_out += len(found)
                held_out.add(found)
            yield each

    def _count_answers(self, examples: Examples, candidates: Candidates) -> None:
        if examples:
            self.answers.add("candidates", (reply.text for reply in candidates.replies))
        for example in examples:
            for role, side in zip(("chosen", "rejected"), _sides(example), strict=False):
                self.answers.add(role, [_text(side, candidates)])

    def check(self, unscored: Counter[str]) -> None:
        """Raise DataError if no pair is left to train on; `unscored` counts turns and candidates without a score."""
        if not self.pairs:
            raise no_pairs(self._to_train, unscored + self.dropped)

    def _examples(self, scored: Scored, dropped: Counter[str]) -> Examples:
        settings, actor = self._settings, self._actor
        return turn_examples(
            scored,
            self._chat,
            settings.pairs,
            loss=actor.loss,
            token_weights=actor.token_weights,
            pairs_per_turn=settings.pairs_per_turn,
            margin=settings.margin,
            seed=settings.seed,
            max_length=actor.max_length,
            imitate=actor.imitate,
            dropped=dropped,
        )


def _sides(example: PairExample | Side) -> tuple[Side, ...]:
    return (example,) if isinstance(example, Side) else (example.chosen, example.rejected)


def _shown(example: PairExample | Side, candidates: Candidates) -> ShownPair:
    turn = candidates.turn
    chosen, *rejected = (_shown_side(side, candidates) for side in _sides(example))
    return ShownPair(
        chosen=chosen,
        rejected=rejected[0] if rejected else None,
        context=turn.trajectory.context(turn.number)[-1].content,
    )


def _shown_side(side: Side, candidates: Candidates) -> ShownSide:
    text = _text(side, candidates)
    return ShownSide(name=side.trajectory, score=side.reward, tokens=side.reply_tokens, text=text)


def _text(side: Side, candidates: Candidates) -> str:
    """Return the reply of a side."""
    number = int(side.trajectory.rpartition(CANDIDATE)[2])
    return candidates.replies[number - 1].text


def estimate(known: Known, recipe: Recipe) -> Amount:
    """Return the number of pairs or, before the stage has run, an upper bound (`Stage.estimate`).

    The bound is missing if the number of turns is unknown.
    """
    if known.said:
        return Amount(examples=known.said["pairs"], tokens=known.said["tokens"])
    turns = known.amounts["candidates"].examples
    if turns is None:
        return Amount()
    return Amount(examples=turns * recipe.table(RankSettings).pairs_per_turn, most=True)


def _by_model(
    candidates: SampledFile, job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> Sequence[Scores | None]:
    from sweet_rl_trainer.methods.ranking.scorers import Scorers

    settings, table = recipe.table(RankSettings), recipe.table(CriticSettings)
    if BASE in job.inputs:
        return _by_sight(candidates, job, recipe, dropped)
    base = model_in(job.inputs["model"])
    with Scorers(recipe, base, job.shared / REFERENCES) as scorers:
        critic = scorers.critic(trained(job.inputs[CRITIC])) if CRITIC in job.inputs else None
        return score_turns(
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
    candidates: SampledFile, job: Job, recipe: Recipe, dropped: Counter[str]
) -> Sequence[Scores]:
    """Return the scores of a critic that sees pages."""
    from sweet_rl_trainer.methods.ranking.scorers import Scorers

    settings, table = recipe.table(RankSettings), recipe.table(CriticSettings)
    assert table.vision  # noqa: S101
    base, pictures = job.inputs[BASE], job.shared / PICTURES
    sight = Sight(table.vision, recipe.domain, base, pictures)
    sight.take_candidates(candidates)
    dropped.update(sight.unseen)
    with Scorers(recipe, base, job.shared / REFERENCES, pictures) as scorers:
        return score_turns(
            candidates,
            sight.chat,
            settings.scores,
            critic=scorers.critic(trained(job.inputs[CRITIC])),
            budget=settings.row_tokens,
            max_length=table.max_length,
            dropped=dropped,
        )


def _by_returns(
    candidates: SampledFile, job: Job, recipe: Recipe, chat: Chat, dropped: Counter[str]
) -> Sequence[Scores | None]:
    tasks = tasks_of(recipe.data, job.inputs)
    count, played = recipe.table(RankSettings).continuations, continuations(job, recipe)
    return score_by_returns(candidates, tasks, chat, played, count=count, dropped=dropped)


def _by_consequences(
    candidates: SampledFile,
    job: Job,
    recipe: Recipe,
    chat: Chat,
    dropped: Counter[str],
    *,
    scores: Consequences,
    inside: Collection[str],
) -> tuple[Sequence[Scores | None], dict[str, float]]:
    """Return scores from a potential, and the line that maps the potential to the reward; {} if no line is fitted."""
    settings, tasks = recipe.table(RankSettings), tasks_of(recipe.data, job.inputs)
    play = continuations(job, recipe, SAY_ONCE).consequences

    def ends() -> Ends:
        dialogues = {each.turn.trajectory.id: each.turn.trajectory for each in candidates}
        return ends_of((each for name, each in dialogues.items() if name in inside), tasks)

    with potential(scores, job, recipe, ends) as (values, line):
        found = score_by_consequences(
            candidates, tasks, chat, play, values, cost=settings.cost, dropped=dropped
        )
    return found, msgspec.structs.asdict(line) if line else {}


def _offset(scored: Iterable[Scored], inside: Collection[str]) -> float:
    """Return the offset that calibrates answer scores, fitted on the dialogues whose IDs are in `inside`.

    Raises UserError if the scores cannot be calibrated.
    """
    found = offset(each for each in scored if each.candidates.turn.trajectory.id in inside)
    if found is None:
        raise UserError(
            "rank.calibrate: the scores of answers cannot be calibrated. Calibration needs successful and failed "
            "dialogues that end with an answer. Among the candidates of the last turns must be both answers and other "
            "replies, and the difference between the mean score of the answers and that of the other replies must vary "
            "between turns. Set rank.calibrate = false, or add such dialogues."
        )
    return found
