"""Monte-Carlo continuations: the demonstrators' policy continues a dialogue and the rule-based human replies.

The demonstrators' policy is used without mistakes in answers and with a new persona in each turn. `truths` computes the
exact values of this policy (`DEMONSTRATOR`). The human always replies to a question about a task in the same way, so
the reply to each wording is requested only once. The reward is R − κ · questions. R is the share of tests that the
answer passes (`credit.facts`); without an answer, R is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

from msgspec import Struct

from colbench.asking.telling import told
from colbench.facts.human import answer as human_answer
from colbench.task import Task
from colbench_agents.demonstrator import BESIDE, FOCUS, HASTE, LINGERS, MINDFUL
from colbench_tasks import designs
from sweet_rl_trainer.creditbench.states import BenchState, Candidate
from sweet_rl_trainer.creditbench.truths import COST
from sweet_rl_trainer.methods.credit.facts import guess_table

PLAYERS = 1024
"""Maximum number of tasks whose players are cached."""
Facts = frozenset[str]


class Turn(Struct, frozen=True):
    """A turn of a played dialogue: a question, or the answer."""

    known: Facts
    """The open decisions that are known before the turn."""
    told: Facts
    """The open decisions that the human's reply adds to the known ones."""
    answers: bool


class Player:
    """A player of dialogues about a task from any state, with a cache of the human's replies (see `player`)."""

    def __init__(self, task: Task, *, cost: float = COST) -> None:
        """Prepare a task; `cost` is κ.

        Raises ValueError if the task belongs to no installed family, or lacks tests.
        """
        table, design = guess_table(task), designs.of(task)
        if design is None:
            raise ValueError(f"{task.id}: the task belongs to no installed family")
        if table is None:
            raise ValueError(f"{task.id}: the task lacks hidden tests")
        self._task, self._table, self._questions = task, table, design.questions
        self._cost = cost
        self.open: Facts = frozenset(table.hidden)
        """The decisions that the request leaves open."""
        self._told: dict[str, Facts] = {}

    def turns(self, random: Random, known: Facts, turns_left: int) -> Iterator[Turn]:
        """Yield the turns of one continuation. A continuation that the turn limit ends has no answer."""
        for left in range(turns_left, 0, -1):
            question = self._next(random, known, last=left == 1)
            if question is None:
                yield Turn(known, frozenset(), True)
                return
            heard = self.told(question) - known
            yield Turn(known, heard, False)
            known |= heard

    def reward(self, turns: Sequence[Turn]) -> float:
        """Return the reward of a continuation."""
        questions = sum(not each.answers for each in turns)
        answers = bool(turns) and turns[-1].answers
        return (self._table.share(turns[-1].known) if answers else 0.0) - self._cost * questions

    def continued(self, random: Random, state: BenchState, candidate: Candidate) -> float:
        """Sample a continuation after a question, and return the continuation's reward minus κ for the question."""
        known = frozenset(state.told) | frozenset(candidate.told)
        return self.reward(list(self.turns(random, known, state.turns_left - 1))) - self._cost

    def told(self, question: str) -> Facts:
        """Return the open decisions that the human's reply to a question reveals."""
        if question not in self._told:
            reply = human_answer(self._task, question)
            names = frozenset(fact.name for fact in told(self._task, question, reply))
            self._told[question] = names & self.open
        return self._told[question]

    def _next(self, random: Random, known: Facts, *, last: bool) -> str | None:
        """Return the next question; None if the agent answers in this turn."""
        untold = sorted(self.open - known)
        if last and random.random() < MINDFUL:
            return None
        if random.random() < (random.choice(HASTE) if untold else 1 - LINGERS):
            return None
        if untold and random.random() < random.choice(FOCUS):
            return random.choice(self._questions[random.choice(untold)])
        return random.choice(BESIDE)


@lru_cache(maxsize=PLAYERS)
def player(task: Task) -> Player:
    """Return the player of a task; all estimators use the same player."""
    return Player(task)
