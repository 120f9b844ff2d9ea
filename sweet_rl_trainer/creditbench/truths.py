"""The exact values of a state and of its candidates.

A truth is a choice of two assumptions: a belief about the open decisions, and the policy after the candidate message.

| truth | belief | policy after the candidate message |
|---|---|---|
| `optimal` | the generator's population | the best policy |
| `policy` | the generator's population | the demonstrators' policy, with correct code and a new persona in each turn |
| `hindsight` | the choices of the task's author, with certainty | the same as for `policy` |

The reward of a dialogue is the reward of its answer minus the cost κ of each question. The value of a question is the
expected value of the state after the human's reply, minus κ. A question in the last turn has the value −κ, since no
answer follows. The value of an answer is its expected reward. Each truth exists for two measures of the reward. The
full name of a truth ends in the measure: `optimal tests`, `optimal success`.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np

from colbench.task import Task
from colbench_agents.demonstrator import FOCUS, HASTE, LINGERS, MINDFUL
from sweet_rl_trainer.creditbench.beliefs import Belief, generator_belief, task_belief
from sweet_rl_trainer.creditbench.states import BenchState, Candidate, StateTruth
from sweet_rl_trainer.creditbench.values import (
    Asker,
    Measure,
    answer_values,
    asker_values,
    best_values,
    expected,
    reward,
    value_after,
)

COST = 0.01
"""κ, the cost of a question: the reward for a hundredth of the tests."""
MOST_TURNS = 10
DIGITS = 6
"""Number of decimal places that values are rounded to, so that equal values are equal on every machine."""
DEMONSTRATOR = Asker(haste=fmean(HASTE), focus=fmean(FOCUS), lingers=LINGERS, mindful=MINDFUL)
"""The demonstrators' policy with a new persona in each turn; haste and focus are averages over personas."""
MEASURES: tuple[Measure, ...] = ("tests", "success")
OPTIMAL, POLICY, HINDSIGHT = "optimal", "policy", "hindsight"
TRUTHS = tuple(f"{kind} {measure}" for kind in (OPTIMAL, POLICY, HINDSIGHT) for measure in MEASURES)

MAIN = f"{OPTIMAL} tests"
"""The truth that estimators are compared with first."""


class Truths:
    """The exact values of a task's states under each truth, which is one definition of value."""

    def __init__(self, task: Task, *, cost: float = COST) -> None:
        """Enumerate the designs; `cost` is κ. Raises ValueError if the task belongs to no installed family."""
        population, author = generator_belief(task), task_belief(task)
        if population is None or author is None:
            raise ValueError(f"{task.id}: the task belongs to no installed family")
        self._truths = {
            f"{kind} {measure}": _Truth(belief, measure, best=kind == OPTIMAL, cost=cost)
            for kind, belief in ((OPTIMAL, population), (POLICY, population), (HINDSIGHT, author))
            for measure in MEASURES
        }

    def of(self, state: BenchState) -> StateTruth:
        """Return the value of a state and of each of its candidates under each truth."""
        return StateTruth(
            value={name: each.value(state) for name, each in self._truths.items()},
            candidates={
                name: tuple(each.candidate(state, one) for one in state.candidates)
                for name, each in self._truths.items()
            },
        )


class _Truth:
    """The values of a task's states under one definition of truth: a belief, a policy and a measure of reward."""

    def __init__(self, belief: Belief, measure: Measure, *, best: bool, cost: float) -> None:
        self._belief, self._measure, self._cost = belief, measure, cost
        self._answers = answer_values(belief.outputs, belief.weights, measure)
        given = self._answers, belief.weights
        self._values = (
            best_values(*given, MOST_TURNS, cost)
            if best
            else asker_values(*given, DEMONSTRATOR, MOST_TURNS, cost)
        )
        """The values of all states: a lattice for each number of remaining turns."""

    def value(self, state: BenchState) -> float:
        return round(float(self._values[state.turns_left][self._known(state)]), DIGITS)

    def candidate(self, state: BenchState, candidate: Candidate) -> float:
        """Return the value of a state if the agent continues with a candidate."""
        return round(self._candidate(state, candidate), DIGITS)

    def _candidate(self, state: BenchState, candidate: Candidate) -> float:
        known, belief = self._known(state), self._belief
        if candidate.slip:
            return self._wrong_answer(known, *candidate.slip)
        if candidate.kind == "answer":
            return float(self._answers[known])
        asked = [belief.names.index(name) for name in candidate.told]
        after = self._values[state.turns_left - 1]
        return value_after(after, belief.weights, known, asked) - self._cost

    def _known(self, state: BenchState) -> tuple[int, ...]:
        """Return a state's index in a lattice (see `values`), which encodes the revealed decisions and choices."""
        belief = self._belief
        return tuple(
            place if name in state.told else 0
            for name, place in zip(belief.names, belief.actual, strict=True)
        )

    def _wrong_answer(self, known: tuple[int, ...], name: str, choice: int) -> float:
        """Return the expected reward of an answer that gives the decision `name` the choice with the index `choice`.

        `known` is the state's index in a lattice. All other choices are those of the best answer in this state.
        """
        belief = self._belief
        written = {
            each: choices[max(place - 1, 0)]
            for each, choices, place in zip(belief.names, belief.choices, known, strict=True)
        }
        decision = next(each for each in belief.design.family.decisions if each.name == name)
        returned = np.array(belief.returned({**written, name: decision.choices()[choice]}))
        possible = belief.outputs[
            (slice(None), *(slice(place - 1, place) if place else slice(None) for place in known))
        ]
        shape = (-1, *(1 for _ in known))
        rewards = reward(returned.reshape(shape), possible, self._measure)
        return expected(rewards, belief.weights, [axis for axis, p in enumerate(known) if not p])
