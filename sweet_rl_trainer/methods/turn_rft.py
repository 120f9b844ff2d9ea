"""Turn-wise rejection fine-tuning: imitate the turns that earned credit, in successful and in failed dialogues.

    turn-rft-data    the dialogues, tokenized; only the tokens of kept turns have weight
    turn-rft         L = -(1/N) Σ_τ (1/|M_τ|) Σ_{i in M_τ} log π(x_i)      M_τ: the tokens of the kept turns
    export

A dialogue with one kept question thus weighs as much as a dialogue whose turns are all kept. A question is kept if its
credit is positive, and an answer if the dialogue succeeded:

    Φ(o_{t+1}) − Φ(o_t) − κ > 0     a question
    R >= at_least                   the answer

Φ is a potential (`methods.credit`), R the reward and κ the cost of a question. RFT keeps all turns of a successful
dialogue and no turn of a failed dialogue. Pairs compare a turn's candidates with each other, but this filter compares
each turn with doing nothing: a question that reveals nothing is not kept. The method needs no sampled candidates. Ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.task import Task
from sweet_rl_trainer.data.examples import (
    Examples,
    NothingLeftError,
    Report,
    Side,
    side_examples,
)
from sweet_rl_trainer.data.pairs import SOLVED
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.credit.advantage import advantages
from sweet_rl_trainer.methods.credit.state import Potential, states_of
from sweet_rl_trainer.methods.ranking.critic_settings import CriticSettings
from sweet_rl_trainer.methods.ranking.potentials import ends_of, potential
from sweet_rl_trainer.methods.ranking.rank_settings import RankSettings
from sweet_rl_trainer.methods.ranking.score import Consequences
from sweet_rl_trainer.pipeline import examples
from sweet_rl_trainer.pipeline.base import chat_of, loading, model_in
from sweet_rl_trainer.pipeline.examples import of_both_sides
from sweet_rl_trainer.pipeline.inputs import load
from sweet_rl_trainer.pipeline.inputs import tasks as tasks_of
from sweet_rl_trainer.pipeline.iteration import Iteration, plain
from sweet_rl_trainer.pipeline.method import Method
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Job, Stage
from sweet_rl_trainer.settings import Count, TrainSettings


class TurnRftSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for imitating single turns.

    The table `[rank]` sets the cost of a question and the potential's `told_later` and `scale`. For `gain`, `[critic]`
    sets the precision and the maximum length.
    """

    train: TrainSettings
    scores: Consequences = "gain"
    """The potential: `gain` for any task with a reference, or the exact `facts` for tasks of installed families."""
    at_least: float = SOLVED
    """Minimum reward of an answer that is imitated."""
    max_length: Count = 16_384
    """Maximum number of tokens; a longer dialogue is left out."""


class TurnRft(Method):
    """The method that imitates single turns of recorded dialogues."""

    name = "turn-rft"
    tables: ClassVar[Mapping[str, type[Struct]]] = {"turn-rft": TurnRftSettings}
    goals: ClassVar[Mapping[str, str]] = {
        "turn-rft": "imitate the turns that earned credit, and export the policy"
    }

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the stage that exports the policy."""
        table = iteration.recipe.table(TurnRftSettings)
        settings = {"at_least": table.at_least, "max_length": table.max_length}
        iteration.require_tasks("turn-rft")
        made = iteration.stage(
            "turn-rft-data", make, {**settings, **_credit(iteration.recipe)}, iteration.inputs
        )
        return [iteration.exported(iteration.training("turn-rft", table.train, made))]


def _credit(recipe: Recipe) -> dict[str, Any]:
    """Return the settings that affect the credit, which are part of the stage's key."""
    scores, ranking = recipe.table(TurnRftSettings).scores, recipe.table(RankSettings)
    shared = {"scores": scores, "cost": ranking.cost, "scale": ranking.scale}
    if scores == "facts":
        return {**shared, "told_later": ranking.told_later}
    critic = recipe.table(CriticSettings)  # its settings also apply to the reference model
    how = plain(loading(critic.train.precision, recipe.lora))
    reference = {"max_length": critic.max_length, "loading": how}
    return {**shared, "reference": {"precision": critic.train.precision, **reference}}


def make(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Write the examples that the training needs, and return a summary.

    Raises DataError if no turn is left to train on, and NoScaleError if the potential cannot be scaled (`potential`).
    """
    table = recipe.table(TurnRftSettings)
    data, tasks = load(recipe.data, job.inputs), tasks_of(recipe.data, job.inputs)
    cost = recipe.table(RankSettings).cost
    with potential(table.scores, job, recipe, lambda: ends_of(data.train, tasks)) as (values, line):
        kept = {
            each.id: kept_turns(each, found, cost=cost, at_least=table.at_least)
            for each, found in credited(data.by_id.values(), tasks, values)
        }
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)

    def imitated(trajectories: Sequence[Trajectory]) -> tuple[Examples, Report]:
        some = [each for each in trajectories if kept.get(each.id)]
        dropped = Counter(_reason(each, kept) for each in trajectories if not kept.get(each.id))
        if dropped and not some:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
            raise NothingLeftError(
                f"none of {len(trajectories)} dialogues has a turn to imitate ({reasons})",
                dropped=dropped,
                too_long=False,
            )
        made, report = side_examples(
            some, chat, "trajectory-mean", max_length=table.max_length, kept=kept
        )
        return made, replace(report, dropped={**report.dropped, **dropped})

    made = of_both_sides(data, imitated)
    turns = sum(len(kept[each.trajectory]) for each in made.train if isinstance(each, Side))
    scale = msgspec.structs.asdict(line) if line else {}
    return {**examples.write(job, data, made), "turns": turns, **scale}


def _reason(dialogue: Trajectory, kept: Mapping[str, Collection[int]]) -> str:
    """Return why a dialogue is left out."""
    return "without a kept turn" if dialogue.id in kept else "without a potential"


def credited(
    dialogues: Iterable[Trajectory], tasks: Mapping[str, Task], values: Potential
) -> Iterator[tuple[Trajectory, list[float]]]:
    """Yield each dialogue together with the potentials before its turns.

    A dialogue is skipped if its task is unknown or if one of its potentials is undefined.
    """
    known = [each for each in dialogues if each.task_hash in tasks]
    states = [states_of(each, tasks[each.task_hash]) for each in known]
    found = iter(values([state for every in states for state in every]))
    for each, every in zip(known, states, strict=True):
        potentials = [next(found) for _ in every]
        defined = [value for value in potentials if value is not None]
        if len(defined) == len(potentials):
            yield each, defined


def kept_turns(
    dialogue: Trajectory, potentials: Sequence[float], *, cost: float, at_least: float
) -> frozenset[int]:
    """Return the turns (from 0) to imitate: questions with positive credit, and an answer with enough reward.

    Args:
        dialogue: The dialogue.
        potentials: Φ before each of the dialogue's turns, shape [T].
        cost: The cost of a question, κ.
        at_least: Minimum reward of an answer.
    """
    *questions, _ = advantages(potentials, dialogue.reward, cost=cost)
    kept = {number for number, credit in enumerate(questions) if credit > 0}
    if dialogue.ended_by == "answer" and dialogue.reward >= at_least:
        kept.add(len(questions))
    return frozenset(kept)
