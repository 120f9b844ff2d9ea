"""Estimators that need neither a model nor sampled dialogues: questions before answers, and the facts potential."""

from __future__ import annotations

from functools import partial

from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Scores
from sweet_rl_trainer.creditbench.states import QUESTIONS, Bench, BenchState
from sweet_rl_trainer.creditbench.truths import COST
from sweet_rl_trainer.methods.credit.advantage import answer_advantage, question_advantage
from sweet_rl_trainer.methods.credit.facts import GuessTable, guess_table


def questions_first(bench: Bench) -> list[Scores]:
    """Return 1 for every question and 0 for every answer."""
    return [tuple(float(c.kind in QUESTIONS) for c in state.candidates) for state in bench.states]


def facts(bench: Bench, told_later: float) -> list[Scores]:
    """Return the advantages under the facts potential Φ_p, where p is `told_later` (see `methods.credit.facts`).

    Returns [] if the task has no `guess_table`.
    """
    table = guess_table(bench.task)
    return [_by_facts(state, table, told_later) for state in bench.states] if table else []


def facts_told(bench: Bench) -> list[Scores]:
    """Return the advantages under the potential Φ that is the share of open decisions that the human has revealed."""
    table = guess_table(bench.task)
    hidden = max(1, len(table.hidden)) if table else 1
    return [
        tuple(
            question_advantage(0.0, len(each.told) / hidden, cost=COST)
            if each.reward is None
            else answer_advantage(len(state.told) / hidden, each.reward)
            for each in state.candidates
        )
        for state in bench.states
    ]


def _by_facts(state: BenchState, table: GuessTable, told_later: float) -> Scores:
    before = table.expected(state.told, told_later)
    return tuple(
        question_advantage(before, table.expected((*state.told, *each.told), told_later), cost=COST)
        if each.reward is None
        else answer_advantage(before, each.reward)
        for each in state.candidates
    )


HALF = 0.5
ESTIMATORS = (
    Estimator(
        name="questions first", about="1 for a question, 0 for an answer", score=questions_first
    ),
    Estimator(
        name="facts",
        about=(
            "question: `Φ(o′) − Φ(o) − κ`; answer: `R − Φ(o)`; `Φ`: the share of tests that an answer "
            "passes if it uses the told choices, and the usual choice of each other decision"
        ),
        score=partial(facts, told_later=0.0),
    ),
    Estimator(
        name="facts, half told later",
        about="as facts, but `Φ` assumes that each untold decision is told before the answer with chance 1/2",
        score=partial(facts, told_later=HALF),
    ),
    Estimator(
        name="facts told",
        about="as facts, but `Φ` is the share of the open decisions that were told",
        score=facts_told,
    ),
)
