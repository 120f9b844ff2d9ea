"""Results of studies in a few characters: a dialogue is 1 (success), 0 (a wrong answer) or - (no answer)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from sweet_rl_trainer.study.first.methods import METHODS, RETURNS
from sweet_rl_trainer.study.first.results import (
    KINDS,
    Agreement,
    Cost,
    Credit,
    Critic,
    Outcome,
    Results,
    Row,
    Scaling,
    Step,
    Try,
)
from sweet_rl_trainer.study.first.stale import stamped


def outcomes(tasks, turns=3, tokens=30):
    """`{"a": "10-"}`: three trials of the task a. Who does not succeed passes half of the tests, by `+` most."""
    return tuple(
        Outcome(
            task=task,
            trial=trial,
            success=mark == "1",
            value={"1": 1.0, "+": 0.75}.get(mark, 0.5),
            turns=turns,
            answered=mark != "-",
            reply_tokens=tokens,
        )
        for task, marks in tasks.items()
        for trial, mark in enumerate(marks)
    )


def curve(*steps):
    """`(0, "0011"), (5, "0111")`: tasks 0 to 3 with one trial each, at two steps."""
    return tuple(
        Step(step=step, outcomes=outcomes({str(n): mark for n, mark in enumerate(marks)}))
        for step, marks in steps
    )


def tried(*steps, rate=1e-3, tokens=1000):
    return Try(rate=rate, curve=curve(*steps), tokens=tokens)


def row(method, tasks, *, seed=0, tries=(), rate=1e-3, step=0):
    """`tasks`: those of `outcomes`, or outcomes."""
    test = outcomes(tasks) if isinstance(tasks, dict) else tasks
    folder = f"evaluate-{method}-{seed}"
    return Row(
        method=method, seed=seed, tries=tuple(tries), rate=rate, step=step, test=test, folder=folder
    )


def results(rows=(), **parts):
    facts = {
        "scale": "cpu",
        "study": {"what": "of a test", "methods": [each.name for each in METHODS]},
        "version": "1.2.3",
        "machine": "two cores",
        "base": {"parameters": 1_000_000},
        "critics": (),
        "scaling": (),
        "costs": (),
    }
    found = Results(rows=tuple(rows), **(facts | parts))
    dated = ("rows", "critics", "scaling", "credits", "exchanges")
    return replace(found, **{name: tuple(map(stamped, getattr(found, name))) for name in dated})


def marks(successes, of=20):
    """Return the marks of `of` tasks, of which the first `successes` succeed."""
    return {f"task-{n:02}": "1" if n < successes else "0" for n in range(of)}


SUCCESSES = (4, 9, 11, 15, 12, 1, 13, 8, 14, 10, 11, 16, 14, 14, 12, 15, 14, 12)
"""Successes of 20 tasks, by method."""


def whole(seeds=3):
    """Return a finished study of all methods."""
    rows, critics, scaling, costs = [], [], [], []
    for seed in range(seeds):
        for method, successes in zip(METHODS, SUCCESSES, strict=True):
            tries = (
                [tried((0, "0001"), (10, "0111"), (20, "011-"), rate=rate) for rate in (1e-4, 1e-3)]
                if method.goal
                else []
            )
            step = 10 if method.goal else 0
            test = marks(successes + seed - 1)
            rows.append(row(method.name, test, seed=seed, tries=tries, step=step))
            costs.append(
                Cost(
                    key=f"{method.name}-{seed}",
                    stage="evaluate",
                    method=method.name,
                    seed=seed,
                    seconds=60,
                    memory=2**30,
                )
            )
            if method.goal == "actor":
                best_of = ((1, 0.3, 0.2, 0.4), (2, 0.4, 0.3, 0.5), (4, 0.5, 0.4, 0.6))
                critics.append(
                    Critic(
                        method=method.name,
                        seed=seed,
                        pairs=50,
                        accuracy=(0.6, 0.55, 0.65),
                        with_turns=0.1,
                        best_of=best_of,
                    )
                )
        for name in ("mtdpo", "sweet"):
            test = outcomes(marks(8 + seed))
            scaling.append(Scaling(method=name, seed=seed, share=0.5, tasks=500, test=test))
    agreement = Agreement(kind=KINDS[0], pairs=100, share=(0.6, 0.5, 0.7))
    return results(
        rows,
        critics=tuple(critics),
        scaling=tuple(scaling),
        costs=tuple(costs),
        credits=tuple(
            Credit(method=method.name, seed=0, agreements=(agreement,))
            for method in METHODS
            if method.goal == "actor" and method.name != RETURNS
        ),
    )


def timed(critic, timing):
    """Return the same critic, which is known to say when to answer."""
    return replace(critic, timing=timing)


@pytest.fixture(scope="session")
def make():
    """Return the builders of this module."""
    found = (outcomes, curve, tried, row, results, marks, whole, timed)
    return SimpleNamespace(**{each.__name__: each for each in found})
