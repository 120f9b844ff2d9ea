"""The tasks of the SQL example: every decision matters, requests hide decisions, and no query is in both sets."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from colbench.errors import UserError
from colbench.facts.human import answer
from colbench.task import Task, row_from_task, task_from_row
from colbench_sql.tasks import DECISIONS, REPORTS, THEMES, Words, fill, load, query, rows, words_of

SHA256 = "bc9a12d8c30d5e6fd0dcd58b33f472f60985d06c263ce605b52b53335e351c41"


def words(task: Task) -> Words:
    known = (words_of(theme, report) for theme in THEMES for report in REPORTS)
    return next(each for each in known if each["wish"] in task.request)


@pytest.mark.weekly
def test_the_sets_are_large_enough_and_share_no_query():
    test, train = load("test"), load("train")
    assert (len(test), len(train)) == (60, 120)
    assert len({task.hidden.reference for task in test + train}) == 180
    assert {task.family for task in test} == {report.name for report in REPORTS}


def test_the_test_set_is_the_same_on_every_machine():
    content = msgspec.json.encode([row_from_task(task) for task in load("test")])
    assert hashlib.sha256(content).hexdigest() == SHA256


def test_an_unknown_set_is_refused_with_the_known_sets():
    with pytest.raises(UserError, match="sql:tests: unknown set; known: sql:test, sql:train"):
        load("tests")


@pytest.mark.parametrize("task", load("test"), ids=lambda task: task.id)
def test_every_other_option_changes_the_rows_of_some_database(task: Task):
    own = words(task)
    said = {fact.name: fact.statement for fact in task.hidden.facts}
    chosen = {
        decision.name: option
        for decision in DECISIONS
        for option in decision.options
        if fill(option.says, own) == said[decision.name]
    }
    assert query(own, chosen) == task.hidden.reference
    others = [
        query(own, {**chosen, decision.name: option})
        for decision in DECISIONS
        for option in decision.options
        if option is not chosen[decision.name]
    ]
    found = [rows(script, [task.hidden.reference, *others]) for script in task.hidden.tests]
    reference, *changed = zip(*found, strict=True)
    assert all(reference)
    assert reference not in changed


def test_a_request_states_some_decisions_and_hides_the_others():
    for task in load("test"):
        given = [fact.name for fact in task.hidden.facts if fact.statement in task.request]
        assert given == [fact.name for fact in task.hidden.facts if fact.stated]
        assert task.difficulty == 6


def test_a_plain_question_gets_its_fact_and_no_other():
    for task in load("test"):
        for fact in task.hidden.facts:
            for question in fact.examples:
                assert answer(task, question) == fact.statement


def test_a_task_round_trips_through_a_task_file():
    task = load("test")[0]
    assert task_from_row(msgspec.json.decode(msgspec.json.encode(row_from_task(task)))) == task
