"""States in which every decision is known: does the critic prefer another question to the right answer?

A state is a turn of a held-out dialogue before which the human has stated every hidden decision, in the words of the
task's facts. So states exist only if tasks have facts and the human uses their words, as the rule-based human does. A
critic that prefers a question here teaches its actor to keep asking and never to answer.

At each state, the right answer (`ANSWER_MARKER` and the task's reference) is compared with further questions. Agents
asked these questions in other dialogues on the task or, if such questions are too few, on other tasks of its family.
Private parts of questions, the text up to `OUTPUT:`, are removed, because a reference has no private part.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.messages import ANSWER_MARKER
from colbench.registry import get_domain
from colbench.stats import Interval, mean_interval
from colbench.task import Task
from sweet_rl_trainer.data import facts
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn

if TYPE_CHECKING:
    from sweet_rl_trainer.methods.ranking.turns import Scored

QUESTIONS = 4
"""The maximum number of questions at each state."""


class Preference(Struct, frozen=True, kw_only=True):
    """A comparison of a critic's scores of questions and of the right answer, in states where all decisions are known.

    Each task has the same weight.
    """

    mean: Interval
    """The share of states where the questions' mean score is above the answer's score; by chance, about a half."""
    best: Interval
    """The share of states where the best question scores above the answer; by chance, n / (n + 1) for n questions."""
    answer: float
    """The mean score of the right answers."""
    question: float
    """The mean score of the questions."""
    states: int
    tasks: int


def known_states(
    trajectories: Sequence[Trajectory],
    tasks: Mapping[str, Task],
    *,
    questions: int = QUESTIONS,
    seed: int = 0,
    dropped: Counter[str] | None = None,
) -> list[Candidates]:
    """Return the states. The replies of a state are the right answer and then up to `questions` questions.

    `tasks` is keyed by task hash. The answer is put into a code fence if most recorded answers are in code fences.
    Questions that the dialogue has already asked are excluded. Dialogues without a state, and states for which no
    question remains, are counted in `dropped`, by reason. Raises UserError if `questions` is below 1.
    """
    if questions < 1:
        raise UserError(f"states: `questions` is {questions}; expected at least 1")
    lost = Counter[str]()
    fenced = _fenced(trajectories)
    asked = _asked(trajectories)
    states = []
    for trajectory in trajectories:
        task = tasks.get(trajectory.task_hash)
        if task is None or not task.difficulty:
            lost["dialogues about a task without known facts"] += 1
            continue
        turns = list(_known(trajectory, task))
        lost["dialogues without a turn at which every decision is known"] += not turns
        for turn in turns:
            further = _further(turn, asked, tasks, questions, seed)
            lost["states without a further question"] += not further
            if further:
                replies = (right_answer(task, fenced=fenced), *further)
                states.append(
                    Candidates(turn=turn, replies=tuple(Reply(text=text) for text in replies))
                )
    if dropped is not None:
        dropped += lost
    return states


def right_answer(task: Task, *, fenced: bool) -> str:
    """Return the reference in the form of an agent's answer."""
    reference = task.hidden.reference.strip("\n")
    if fenced:
        reference = f"```{get_domain(task.domain).language}\n{reference}\n```"
    return f"{ANSWER_MARKER}\n{reference}"


def preference(scored: Sequence[Scored]) -> Preference | None:
    """Return the comparison of questions with the answer in scored `known_states`; a tie counts half.

    A state counts if its answer and at least one question have a score. Return None if no state counts.
    """
    found: dict[str, list[tuple[float, list[float]]]] = {}
    for each in scored:
        answer, *others = each.scores
        known = [score for score in others if score is not None]
        if answer is not None and known:
            task = each.candidates.turn.trajectory.task_hash
            found.setdefault(task, []).append((answer, known))
    if not found:
        return None

    def over_tasks(value: Callable[[float, list[float]], float]) -> list[list[float]]:
        return [[value(answer, known) for answer, known in states] for states in found.values()]

    return Preference(
        mean=mean_interval(over_tasks(lambda answer, known: _above(_mean(known), answer))),
        best=mean_interval(over_tasks(lambda answer, known: _above(max(known), answer))),
        answer=_mean([_mean(states) for states in over_tasks(lambda answer, _: answer)]),
        question=_mean([_mean(states) for states in over_tasks(lambda _, known: _mean(known))]),
        states=sum(map(len, found.values())),
        tasks=len(found),
    )


def still_hidden(trajectory: Trajectory, task: Task) -> Iterator[int]:
    """Yield, for each turn, the number of facts that are still hidden before the turn."""
    opening, *replies = [each.content for each in trajectory.messages if each.role == "user"]
    first = " ".join(fact.statement for fact in facts.told_at_first(task, opening))
    _, *hidden = facts.still_hidden(task, [first, *replies])
    yield from hidden


def _known(trajectory: Trajectory, task: Task) -> Iterator[Turn]:
    """Yield each turn at whose start all facts left open by the request had been revealed."""
    for number, hidden in enumerate(still_hidden(trajectory, task)):
        if not hidden:
            yield Turn(trajectory=trajectory, number=number)


def _fenced(trajectories: Sequence[Trajectory]) -> bool:
    """Return True if most answers are in code fences."""
    answers = [each.replies[-1] for each in trajectories if each.ended_by == "answer"]
    return 2 * sum("```" in answer.rpartition(ANSWER_MARKER)[2] for answer in answers) > len(
        answers
    )


class _Question(Struct, frozen=True, kw_only=True):
    text: str
    trajectory: str
    turn: int


def _asked(trajectories: Sequence[Trajectory]) -> dict[str, list[_Question]]:
    """Return the agents' questions, keyed by task.

    The last reply of each dialogue, which may be an answer, is left out.
    """
    asked: dict[str, list[_Question]] = {}
    for each in trajectories:
        asked.setdefault(each.task_hash, []).extend(
            _Question(text=said, trajectory=each.id, turn=number)
            for number, said in enumerate(each.said[:-1])
            if said
        )
    return asked


def _further(
    turn: Turn,
    asked: Mapping[str, Sequence[_Question]],
    tasks: Mapping[str, Task],
    count: int,
    seed: int,
) -> list[str]:
    """Return up to `count` questions that other dialogues asked in turns with a lower number than `turn`.

    Questions that the dialogue of `turn` has already asked are left out. Questions about the same task come first, then
    questions about other tasks of its family.
    """
    mine = turn.trajectory
    family = tasks[mine.task_hash].family
    related = [
        hash_ for hash_ in asked if family and hash_ in tasks and tasks[hash_].family == family
    ]
    chance = random.Random(derive_seed("questions", seed, mine.id, turn.number))  # noqa: S311 - no secret
    chosen = dict[str, None]()
    for place in ([mine.task_hash], [hash_ for hash_ in related if hash_ != mine.task_hash]):
        texts = {
            each.text
            for hash_ in place
            for each in asked.get(hash_, ())
            if each.trajectory != mine.id and each.turn < turn.number
        }
        fresh = sorted(texts - set(mine.said[: turn.number]))
        chance.shuffle(fresh)
        chosen |= dict.fromkeys(fresh)
    return list(chosen)[:count]


def _above(one: float, other: float) -> float:
    return 0.5 if one == other else float(one > other)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
