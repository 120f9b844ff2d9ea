"""The share of tests that a guess passes, compared with the scorer, and the potential that it gives."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest
from msgspec.structs import replace

from colbench.asking.opening import opening
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.errors import DataError
from colbench.facts.human import answer
from colbench.messages import Message
from colbench.sandbox import CodeSandbox
from colbench.selection import load_tasks
from colbench.task import Hidden, Task
from colbench_tasks import designs
from sweet_rl_trainer.methods.credit.advantage import answer_advantage, question_advantage
from sweet_rl_trainer.methods.credit.facts import FactsPotential, facts_told, guess_table, subsets
from sweet_rl_trainer.methods.credit.state import State


@pytest.fixture(scope="module")
def tasks():
    return load_tasks("generated:backend/train?number=12&families=dice,hotel,loyalty&difficulty=4")


def start(task):
    return State(task=task, messages=(Message(role="user", content=task.request),))


def test_shares_match_the_scorer(tasks):
    """Compare every subset of the facts of a few tasks with functions run in the sandbox."""

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


def test_a_guess_passes_all_tests_with_all_facts_told_but_not_with_none(tasks):
    for task in tasks:
        table = guess_table(task)
        assert len(table.hidden) == 4
        assert table.share(table.hidden) == 1
        assert table.share(()) < 1
        assert list(table.all()) == list(subsets(table.hidden))


def test_subsets_are_ordered_by_size():
    assert list(map(sorted, subsets(("a", "b", "c")))) == [
        [], ["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"]
    ]  # fmt: skip


def test_the_potential_follows_the_facts_told_and_ends_at_1(tasks):
    potential = FactsPotential(told_later=0.0)
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


def test_a_first_message_with_all_decisions_reveals_them_but_the_request_reveals_none(tasks):
    for task in tasks:
        assert facts_told(start(task)) == set()
        told = State(task=task, messages=(Message(role="user", content=opening(task, "all")),))
        assert facts_told(told) == set(guess_table(task).hidden)
        assert FactsPotential(told_later=0.0)([told]) == [1.0]


def test_an_unanswered_question_leaves_the_potential_unchanged(tasks):
    task = tasks[0]
    before = start(task)
    after = before.after("Which version of Python do you use?", "I don't know.")
    one, other = FactsPotential(told_later=0.0)([before, after])
    assert one == other == guess_table(task).share(())
    one, other = FactsPotential(told_later=0.5)([before, after])
    assert one == other > guess_table(task).share(())


def test_facts_that_may_be_told_later_count_by_their_probability(tasks):
    """Compare Φ_p with a loop over all outcomes of four coins; each tells its hidden fact with probability p."""
    for task in tasks[:3]:
        table, names = guess_table(task), guess_table(task).hidden
        for known in (frozenset(), frozenset(names[1:3]), frozenset(names)):
            for chance in (0.0, 0.25, 0.5, 1.0):
                expected = 0.0
                for coins in product((False, True), repeat=4):
                    weight, told = 1.0, set(known)
                    for name, falls in zip(names, coins, strict=True):
                        weight *= chance if falls else 1 - chance
                        told |= {name} if falls else set()
                    expected += weight * table.share(told)
                assert table.expected(known, chance) == pytest.approx(expected, abs=1e-12)


def test_most_questions_beat_an_immediate_answer_only_with_facts_told_later(tasks):
    """Count the first questions that reveal one fact and have more credit than an immediate answer."""

    def above_an_answer(chance):
        above = [
            table.expected({name}, chance) - 0.02 > table.share(())
            for table in map(guess_table, tasks)
            for name in table.hidden
        ]
        return sum(above) / len(above)

    assert above_an_answer(0.0) < 0.5
    assert above_an_answer(0.5) > 0.9


def test_a_task_without_a_family_has_no_potential():
    hidden = Hidden(reference="def f(x): return x", tests=("f(1)",))
    task = Task(id="t", domain="backend", request="Write it. def f(x)", hidden=hidden)
    assert FactsPotential(told_later=0.5)([start(task)]) == [None]
    assert guess_table(task) is None


def test_a_test_other_than_a_call_with_literals_is_refused(tasks):
    task = tasks[0]
    calls = ("print(open('x'))",)
    broken = replace(task, id="broken", hidden=replace(task.hidden, tests=calls))
    with pytest.raises(DataError, match='broken: the test "print'):
        guess_table(broken)


def followed(table, chance, cost=0.01):
    """Return the share of tests of an agent that takes the action with the most credit: a question or an answer."""
    known = frozenset()
    while True:
        here = table.expected(known, chance)
        credit = {
            name: question_advantage(here, table.expected(known | {name}, chance), cost=cost)
            for name in table.hidden
            if name not in known
        }
        best = max(credit, key=credit.get, default=None)
        if best is None or credit[best] <= answer_advantage(here, table.share(known)):
            return table.share(known)
        known |= {best}


def test_greedy_credit_passes_all_tests_more_often_with_facts_told_later(tasks):
    tables = list(map(guess_table, tasks))
    now, later = ([followed(table, chance) for table in tables] for chance in (0.0, 0.5))
    assert sum(share == 1 for share in later) >= 11
    assert sum(share == 1 for share in now) <= 9
