"""What a critic is worth: its scores of the base's dialogues on validation tasks, of which it has seen none.

Better dialogues may simply be longer, so a critic that counts turns has some accuracy too: next to that of all pairs
stands that of dialogues with equally many turns, and what counting alone is worth.

FOLDER/scores.json   of `score`: S of each dialogue, by its id
FOLDER/judged.json   of `judge`: `Judged`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.stats import mean_interval
from sweet_rl_trainer.data.examples import side_examples
from sweet_rl_trainer.data.pairs import SOLVED, Pair, PairSettings, make_pairs
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.best_of import of_dialogues
from sweet_rl_trainer.methods.critic.correlation import correlation
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings, template_of
from sweet_rl_trainer.methods.ranking.rank import RankSettings
from sweet_rl_trainer.methods.ranking.score import score_sides, sums
from sweet_rl_trainer.methods.ranking.scorers import Scorers
from sweet_rl_trainer.pipeline import inputs, stage
from sweet_rl_trainer.pipeline.base import REFERENCES, chat_of, model_in, trained
from sweet_rl_trainer.pipeline.recipe import DataSettings, Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.study.judges import bounds

SCORED, JUDGED = "scores.json", "judged.json"
CRITIC, SCORES, DIALOGUES = "critic", "scores", f"{inputs.COLLECTED}0"
"""Inputs. Without a critic, scores are those of `pmi`; without scores, it is the number of turns that is judged."""


class Judged(Struct, frozen=True, kw_only=True):
    """What is left of the scores; each triple is a mean and its 95 % interval by task."""

    pairs: int
    accuracy: tuple[float, float, float]
    matched_pairs: int
    """Those whose two dialogues have equally many turns."""
    matched: tuple[float, float, float] | None
    """Accuracy among these; None where there is none."""
    with_turns: float | None
    best_of: tuple[tuple[int, float, float, float], ...]
    """n, and the success of the best of n dialogues by score."""


def score(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Score all dialogues, and say how many."""
    scores = _scores(job, recipe, _dialogues(job, recipe))
    (job.folder / SCORED).write_bytes(msgspec.json.encode(scores))
    return {"dialogues": len(scores)}


def judge(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Measure how often the better of two dialogues has the higher score."""
    dialogues, pairs = _dialogues(job, recipe), recipe.table(CriticSettings).pairs
    if SCORES in job.inputs:
        scores = stage.read(job.inputs[SCORES] / SCORED, dict[str, float])
        found = judged(dialogues, scores, pairs)
    else:
        turns = {each.id: float(len(each.said)) for each in dialogues}
        found = replace(judged(dialogues, turns, pairs), matched=None)  # all of these are equal
    (job.folder / JUDGED).write_bytes(msgspec.json.encode(found))
    return {"accuracy": found.accuracy[0], "pairs": found.pairs}


def read(folder: Path) -> Judged:
    """Read the judgment of a stage. Raises DataError if the file is damaged."""
    return stage.read(folder / JUDGED, Judged)


def _dialogues(job: Job, recipe: Recipe) -> Sequence[Trajectory]:
    settings = DataSettings(held_out=0, system=recipe.data.system)
    return inputs.load(settings, job.inputs).train


def _scores(job: Job, recipe: Recipe, dialogues: Sequence[Trajectory]) -> dict[str, float]:
    """Return S of each dialogue by its id."""
    base, table = model_in(job.inputs["model"]), recipe.table(CriticSettings)
    budget = recipe.table(RankSettings).row_tokens
    chat = chat_of(base, recipe.model)
    template = template_of(table)

    def sides(*, privileged: bool) -> Any:
        shown = template if privileged else None
        return side_examples(
            dialogues, chat, table.token_weights, privileged=shown, max_length=table.max_length
        )[0]

    with Scorers(recipe, base, job.shared / REFERENCES) as scorers:
        reference = scorers.reference()
        known = sides(privileged=True)
        if CRITIC in job.inputs:
            critic = scorers.critic(trained(job.inputs[CRITIC]))
            values = score_sides(known, critic=critic, reference=reference, budget=budget)
        else:
            with_c = sums(known, reference, budget=budget)
            without = sums(sides(privileged=False), reference, budget=budget)
            values = [one - other for one, other in zip(with_c, without, strict=True)]
    return {side.trajectory: value for side, value in zip(known, values, strict=True)}


def judged(
    dialogues: Sequence[Trajectory], scores: dict[str, float], chosen: PairSettings
) -> Judged:
    """Return the judgment of scores, which are by the dialogue's id. A tie is half a win.

    Pairs are those of the rule and its margin.
    """
    scored = [each for each in dialogues if each.id in scores]
    pairs = make_pairs(scored, chosen.rule, margin=chosen.margin)
    alike = [each for each in pairs if len(each.chosen.said) == len(each.rejected.said)]
    turns = correlation(
        [scores[each.id] for each in scored], [len(each.said) for each in scored]
    ).pearson
    succeeded = [replace(each, reward=float(each.reward >= SOLVED)) for each in scored]
    curve = of_dialogues(succeeded, scores)
    return Judged(
        pairs=len(pairs),
        accuracy=_accuracy(pairs, scores),
        matched_pairs=len(alike),
        matched=_accuracy(alike, scores) if alike else None,
        with_turns=turns,
        best_of=tuple(
            (each.count, *bounds(each.reward)) for each in (curve.curve if curve else ())
        ),
    )


def _accuracy(pairs: Sequence[Pair], scores: dict[str, float]) -> tuple[float, float, float]:
    by_task: dict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        margin = scores[pair.chosen.id] - scores[pair.rejected.id]
        by_task[pair.chosen.task_hash].append(0.5 if margin == 0 else float(margin > 0))
    return bounds(mean_interval(list(by_task.values())))
