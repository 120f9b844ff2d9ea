"""Privileged self-teaching: the model learns to answer after a dialogue as it answers a complete request.

    fic-answers   answers a ~ π_ref(. | x): x is one message, the request with the hidden decisions stated in it
    fic-data      the answers, each after a dialogue about the same task up to its last turn (o_T);
                  weights 1 / (tokens of the answer)
    fic           L = -(1/N) Σ_a (1/|a|) Σ_i log π(a_i | o_T, a_{<i})
    export

L is, up to a constant and the normalization by length, KL(π_ref(. | x) ‖ π(. | o_T)), estimated from samples of the
teacher. Only the turn with a dialogue's answer is trained, not the questions. No reward is used. Teacher and student
are one model with two views of the task.

Source: view-asymmetric self-distillation of Found in Conversation (FiC, arXiv 2605.24432). The teacher sees the task in
one turn, and the student in several turns. In FiC, a dialogue has revealed everything by its end. In ColBench, a
dialogue may end with unrevealed decisions, and a teacher that knows these decisions teaches the student to guess. With
`knows = "dialogue"`, the teacher knows only what the dialogue revealed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from colbench.asking.opening import opening
from colbench.errors import DataError, UserError
from colbench.messages import Message
from colbench.task import Task
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Report, Side
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.credit.facts import facts_told
from sweet_rl_trainer.methods.credit.state import states_of
from sweet_rl_trainer.methods.ranking import sample
from sweet_rl_trainer.methods.ranking.answers import is_answer
from sweet_rl_trainer.methods.ranking.files import SampledFile
from sweet_rl_trainer.methods.ranking.sample import SampleSettings
from sweet_rl_trainer.methods.ranking.turns import (
    Candidates,
    Turn,
    encode_candidates,
    reply_lengths,
)
from sweet_rl_trainer.pipeline import examples
from sweet_rl_trainer.pipeline.base import chat_of, model_in
from sweet_rl_trainer.pipeline.examples import TrainingData
from sweet_rl_trainer.pipeline.inputs import Data, load
from sweet_rl_trainer.pipeline.inputs import tasks as tasks_of
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.method import Method
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known, Stage
from sweet_rl_trainer.settings import Count, Precision, TrainSettings

ANSWERS = "answers"
"""Name of the stage's input with the teacher's answers."""
Knows = Literal["everything", "dialogue"]


class FicSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of distillation at the turn with the answer. The table `[sample]` sets how the teacher is sampled."""

    train: TrainSettings
    knows: Knows = "everything"
    """The decisions stated to the teacher: all hidden decisions, or only the decisions that the dialogue revealed."""
    count: Annotated[int, Meta(ge=2)] = 4
    """Number of the teacher's answers for each dialogue."""
    max_length: Count = 16_384
    """Maximum number of tokens of a dialogue with one of the teacher's answers; longer examples are left out."""


class Fic(Method):
    """The method that trains the model on its own answers to complete requests."""

    name = "fic"
    tables: ClassVar[Mapping[str, type[Struct]]] = {"fic": FicSettings}
    goals: ClassVar[Mapping[str, str]] = {
        "fic": "train the model on its own answers to complete requests, and export it"
    }

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the stage that exports the policy."""
        return [iteration.exported(trained(iteration))]


def trained(iteration: Iteration) -> Stage:
    """Return the stage that trains the policy."""
    recipe = iteration.recipe
    iteration.require_tasks("fic")
    table = recipe.table(FicSettings)
    precision, drawn = table.train.precision, _sampling(recipe)
    how = {
        "count": drawn.count,
        "temperature": drawn.temperature,
        "max_tokens": drawn.max_tokens,
        "seed": drawn.seed,
        "record_tokens": drawn.record_tokens,
        "in-process": precision if drawn.server == sample.IN_PROCESS else None,
    }
    answers = iteration.stage(
        "fic-answers",
        partial(answer, precision=precision),
        {"knows": table.knows, "sample": how},
        iteration.inputs,
        estimate=partial(estimate, recipe=recipe),
    )
    made = iteration.stage(
        "fic-data",
        distill,
        {"knows": table.knows, "max_length": table.max_length},
        {**iteration.inputs, ANSWERS: answers},
    )
    return iteration.training("fic", table.train, made)


def _sampling(recipe: Recipe) -> SampleSettings:
    return replace(recipe.table(SampleSettings), count=recipe.table(FicSettings).count)


class View(Struct, frozen=True, kw_only=True):
    """Two views of one task.

    The student sees the dialogue. The teacher sees only the request, with hidden decisions added to it.
    """

    dialogue: Trajectory
    single: Trajectory
    """The teacher's view: the system prompt, the request with the decisions stated to the teacher, and the answer."""

    @property
    def turn(self) -> Turn:
        """The turn at which the dialogue answered."""
        return Turn(trajectory=self.dialogue, number=len(self.dialogue.replies) - 1)


def answer(job: Job, recipe: Recipe, precision: Precision) -> dict[str, Any]:
    """Sample the teacher's answers, write them, and return a summary.

    Raises UserError if no answered dialogue is about a task with known decisions.
    """
    lost = Counter[str]()
    views = _views(load(recipe.data, job.inputs), job.inputs, recipe, lost)
    if not views:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in lost.items())
        raise UserError(
            "fic: no dialogue has both an answer and a task whose decisions are known "
            f"({reasons or 'no dialogue at all'}); add such dialogues from runs (data.runs or [[collect]])"
        )
    wanted = [Turn(trajectory=each.single, number=0) for each in views]
    said = sample.sample_at(wanted, job, recipe, _sampling(recipe), precision)
    return {**said, "left out": {**lost, **said["left out"]}}


def estimate(known: Known, recipe: Recipe) -> Amount:
    """Return the amount of work (`Stage.estimate`): the number of dialogues for which the teacher writes answers."""
    if known.absent - {"model"}:
        return Amount(note="known once dialogues exist")
    if known.waits:
        return Amount(note="known after the dialogues are collected")
    views = _views(load(recipe.data, known.inputs), known.inputs, recipe, Counter())
    count = recipe.table(FicSettings).count
    return Amount(
        examples=len(views), note=f"the examples are dialogues, with {count} answers each"
    )


def distill(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Write training examples, and return a summary.

    An example is a dialogue, with one of the teacher's answers in place of its own answer. Raises DataError if no
    training example remains.
    """
    data = load(recipe.data, job.inputs)
    views = {each.single.id: each for each in _views(data, job.inputs, recipe, Counter())}
    answered = SampledFile(job.inputs[ANSWERS], {name: each.single for name, each in views.items()})
    chat = chat_of(model_in(job.inputs["model"]), recipe.model)
    inside = {each.id for each in data.train}
    train, held_out, lost = list[Side](), list[Side](), Counter[str]()
    for each in answered:
        view = views[each.turn.trajectory.id]
        mine = view.dialogue.id in inside
        sides = _sides(
            view, each, chat, recipe.table(FicSettings).max_length, lost if mine else Counter()
        )
        (train if mine else held_out).extend(sides)
    return examples.write(job, data, _training_data(train, held_out, lost))


def _views(
    data: Data, inputs: Mapping[str, Path], recipe: Recipe, lost: Counter[str]
) -> list[View]:
    """Return a view of each answered dialogue whose task has known decisions. `lost` counts all other dialogues."""
    tasks, knows = tasks_of(recipe.data, inputs), recipe.table(FicSettings).knows
    found = []
    for each in data.by_id.values():
        task = tasks.get(each.task_hash)
        if each.ended_by != "answer":
            lost["dialogues without an answer"] += 1
        elif task is None or not task.hidden.facts:
            lost["tasks whose decisions are not known"] += 1
        else:
            found.append(View(dialogue=each, single=single_turn(each, task, knows)))
    return found


def single_turn(dialogue: Trajectory, task: Task, knows: Knows) -> Trajectory:
    """Return a one-turn dialogue: a request with the decisions stated to the teacher (`knows`), and the answer."""
    told = task
    if knows == "dialogue":
        known = facts_told(states_of(dialogue, task)[-1])
        facts = tuple(
            replace(fact, stated=fact.stated or fact.name not in known)
            for fact in task.hidden.facts
        )
        told = replace(task, hidden=replace(task.hidden, facts=facts))
    system = tuple(each for each in dialogue.messages[:1] if each.role == "system")
    request = Message(role="user", content=opening(told, "all"))
    return replace(
        dialogue,
        id=f"{dialogue.id}, told at once",
        messages=(*system, request, dialogue.messages[-1]),
        said=dialogue.said[-1:],
        prompts=(),
        sampled=(),
    )


def _sides(
    view: View, answered: Candidates, chat: Chat, max_length: int, lost: Counter[str]
) -> list[Side]:
    """Return a `Side` for each usable answer. `lost` counts replies that contain no answer or are too long."""
    replies = tuple(each for each in answered.replies if is_answer(each.text))
    lost["replies of the teacher without an answer"] += len(answered.replies) - len(replies)
    made = encode_candidates(Candidates(turn=view.turn, replies=replies), chat, "trajectory-mean")
    sides = [
        Side(
            examples=(example,),
            trajectory=f"{view.turn.name}, answer {number}",
            reward=view.dialogue.reward,
            turns=1,
            reply_tokens=length,
        )
        for number, (example, length) in enumerate(zip(made, reply_lengths(made), strict=True), 1)
    ]
    fitting = [each for each in sides if each.tokens <= max_length]
    lost[f"longer than {max_length} tokens"] += len(sides) - len(fitting)
    return fitting


def _training_data(
    train: Sequence[Side], held_out: Sequence[Side], lost: Counter[str]
) -> TrainingData:
    """Return the training and held-out examples. Raises DataError if no training example remains."""
    if not train:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in (+lost).items())
        raise DataError(
            "fic: none of the teacher's replies can be used for training "
            f"({reasons or 'it wrote none for a training dialogue'})"
        )
    report = Report(
        unit="answers",
        taken=len(train),
        dropped=dict(+lost),
        tokens=sum(each.tokens for each in train),
        longest=max(each.tokens for each in train),
        forms={},
        sources={},
    )
    return TrainingData(train=train, held_out=held_out, report=report)
