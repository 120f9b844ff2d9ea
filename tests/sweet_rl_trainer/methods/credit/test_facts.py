"""The share of tests that a guess passes: by hand, and as the scorer judges the same function."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from colbench.domains.backend.scorer import UnitTestScorer
from colbench.errors import DataError
from colbench.facts.human import answer
from colbench.messages import Message
from colbench.sandbox import CodeSandbox
from colbench.selection import load_tasks
from colbench.task import Hidden, Task
from colbench_tasks import designs
from sweet_rl_trainer.methods.credit.facts import FactsPotential, facts_told, guess_table, subsets
from sweet_rl_trainer.methods.credit.state import State


@pytest.fixture(scope="module")
def tasks():
    return load_tasks("generated:backend/train?number=12&families=dice,hotel,loyalty&difficulty=4")


def start(task):
    return State(task=task, messages=(Message(role="user", content=task.request),))


def test_shares_are_those_of_the_scorer(tasks):
    """For every subset of the facts of a few tasks, as functions in the sandbox."""

    async def scored(task, sources):
        async with CodeSandbox(1) as box:
            scorer = UnitTestScorer(box, modes=("default",))
            return [(await scorer.score(task, each))["default"].value for each in sources]

    for task in tasks[:3]:
        design, table = designs.of(task), guess_table(task)
        known = [
            {*facts, *(f.name for f in task.hidden.facts if f.stated)} for facts in table.all()
        ]
        sources = [
            design.source({**design.usual, **{name: design.chosen[name] for name in names}})
            for names in known
        ]
        assert len(set(sources)) >= 4
        assert list(table.all().values()) == asyncio.run(scored(task, sources))


def test_everything_told_passes_everything_and_nothing_told_does_not(tasks):
    for task in tasks:
        table = guess_table(task)
        assert len(table.hidden) == 4
        assert table.share(table.hidden) == 1
        assert table.share(()) < 1
        assert list(table.all()) == list(subsets(table.hidden))


def test_subsets_come_by_their_size():
    assert list(map(sorted, subsets(("a", "b", "c")))) == [
        [], ["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"]
    ]  # fmt: skip


def test_the_potential_rises_from_the_guess_to_1_as_the_human_tells_the_facts(tasks):
    potential = FactsPotential()
    for task in tasks:
        table, state = guess_table(task), start(task)
        told = set()
        assert potential([state]) == [table.share(())]
        for fact in task.hidden.facts:
            if not fact.stated:
                question = fact.examples[0]
                reply = answer(task, question)
                assert fact.statement in reply
                state = state.after(question, reply)
                told.add(fact.name)
                assert facts_told(state) == told
                assert potential([state]) == [table.share(told)]
        assert potential([state]) == [1.0]


def test_what_is_asked_in_vain_changes_nothing(tasks):
    task = tasks[0]
    before = start(task)
    after = before.after("Which version of Python do you use?", "I don't know.")
    one, other = FactsPotential()([before, after])
    assert one == other == guess_table(task).share(())


def test_a_task_of_no_family_has_no_potential():
    hidden = Hidden(reference="def f(x): return x", tests=("f(1)",))
    task = Task(id="t", domain="backend", request="Write it. def f(x)", hidden=hidden)
    assert FactsPotential()([start(task)]) == [None]
    assert guess_table(task) is None


def test_a_test_that_is_no_call_with_literals_is_refused_by_name(tasks):
    task = tasks[0]
    calls = ("print(open('x'))",)
    broken = replace(task, id="broken", hidden=replace(task.hidden, tests=calls))
    with pytest.raises(DataError, match='broken: the test "print'):
        guess_table(broken)
