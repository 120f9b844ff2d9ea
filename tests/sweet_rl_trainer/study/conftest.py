"""Results of studies in a few characters.

A dialogue is 1 (success), 0 (a wrong answer), + (a wrong answer that passes most tests) or - (no answer).
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sweet_rl_trainer.study.results import Budget, Cost, Exchange, Outcome, Results, Row, Try

BUDGET = Budget(
    dialogues=2700,
    candidates=100,
    critic_steps=12,
    steps=60,
    supervised=1800.0,
    evaluations=2400,
    seconds=300.0,
)


def outcomes(marks, told=2):
    """Return one outcome for each mark: `"10+"` for tasks 0, 1 and 2.

    A failed dialogue passes half of the tests, or three quarters for `+`. The human tells `told` of 4 facts.
    """
    return tuple(
        Outcome(
            task=f"task-{number}",
            trial=0,
            success=mark == "1",
            value={"1": 1.0, "+": 0.75}.get(mark, 0.5),
            turns=3,
            answered=mark != "-",
            reply_tokens=30,
            told=told,
            hidden=4,
        )
        for number, mark in enumerate(marks)
    )


def tried(arm, rate, seed, marks):
    return Try(
        key=f"try {arm} {rate} {seed}", arm=arm, rate=rate, seed=seed, validation=outcomes(marks)
    )


def row(arm, seed, marks, told=2):
    return Row(
        key=f"row {arm} {seed}",
        arm=arm,
        seed=seed,
        rate=1e-3,
        test=outcomes(marks, told),
        budget=BUDGET,
    )


def exchange(asker, writer, seed, marks):
    return Exchange(
        key=f"{asker} {writer} {seed}", asker=asker, writer=writer, seed=seed, test=outcomes(marks)
    )


def results(rows=(), **parts):
    facts = {
        "name": "asking",
        "world": {"what": "of a test", "iterations": 3},
        "base": "0123",
        "version": "1.2.3",
        "machine": "two cores",
        "seeds": 2,
        "costs": tuple(Cost(key=f"{n}", stage="evaluate", seconds=30.0) for n in range(4)),
    }
    return Results(rows=tuple(rows), **(facts | parts))


@pytest.fixture(scope="session")
def make():
    """Return the builders of this module."""
    found = (outcomes, tried, row, exchange, results)
    return SimpleNamespace(**{each.__name__: each for each in found})
