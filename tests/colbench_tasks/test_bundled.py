"""The bundled backend set: sound, proved, varied, the same everywhere."""

from __future__ import annotations

import ast
import hashlib
import re
import time
from collections import Counter
from typing import Any

import msgspec
import pytest

from colbench.errors import UserError
from colbench.task import Task, row_from_task, task_from_row
from colbench_tasks.bundled import SETS, load
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Choice, Family, Theme, statements

DIGEST = "eb4202d94c6759d25e03618878f7094e73e295bf3c039e19d5964509612f0f94"
"""SHA-256 of the set as JSON lines. Changes only when a family or the generator does, on purpose."""


def run(source: str, task: Task) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return [eval(call, dict(namespace)) for call in task.hidden.tests]


def origin(task: Task) -> tuple[Family, Theme, dict[str, Choice]]:
    """Family, theme and design of a task, found from its signature and the words of its facts."""
    family = FAMILIES[task.family]
    theme = next(t for t in family.themes if task.request.endswith(family.signature(t)))
    design = {}
    for decision, fact in zip(family.decisions, task.hidden.facts, strict=True):
        assert decision.name == fact.name
        meant = [choice for choice, words in statements(decision, theme) if words == fact.statement]
        assert len(set(meant)) == 1, fact
        design[decision.name] = meant[0]
    return family, theme, design


def test_the_set_is_large_varied_and_the_same_bytes_everywhere() -> None:
    tasks = load("backend")
    assert len(tasks) >= 210
    assert len({task.family for task in tasks}) >= 14
    assert set(Counter(task.family for task in tasks).values()) == {SETS["backend"]}
    lines = b"\n".join(msgspec.json.encode(row_from_task(task)) for task in tasks)
    assert hashlib.sha256(lines).hexdigest() == DIGEST


def test_ids_requests_and_references_are_all_different() -> None:
    tasks = load("backend")
    for field in ("id", "request", "hash"):
        assert len({getattr(task, field) for task in tasks}) == len(tasks), field
    assert all(re.fullmatch(rf"{task.family}-\d{{4}}", task.id) for task in tasks)
    assert len({task.hidden.reference for task in tasks}) == len(tasks)


def test_the_first_tasks_are_of_different_families() -> None:
    first = load("backend")[: len(FAMILIES)]
    assert len({task.family for task in first}) == len(FAMILIES)


def test_a_request_ends_in_the_signature_and_holds_no_hidden_value() -> None:
    for task in load("backend"):
        family, theme, design = origin(task)
        assert task.request.endswith(f"The signature of the function is: {family.signature(theme)}")
        assert "$" not in task.request
        told = set(re.findall(r"\d+", task.request)) - {"0", "1", "3", "5", "6", "7", "100"}
        assert told <= {""}, task.request
        assert all(fact.statement not in task.request for fact in task.hidden.facts)
        assert 3 <= len(design) <= 8


def test_a_reference_stands_alone_and_gives_the_same_values_twice() -> None:
    for task in load("backend"):
        tree = ast.parse(task.hidden.reference)
        assert [type(node) for node in tree.body] == [ast.FunctionDef]
        assert task.function_name == tree.body[0].name
        assert "$" not in task.hidden.reference
        values = run(task.hidden.reference, task)
        assert values == run(task.hidden.reference, task)
        assert len({repr(value) for value in values}) >= 4
        assert None not in values, "the released scorer cannot match it"


def test_a_task_has_ten_different_calls_with_literal_arguments() -> None:
    for task in load("backend"):
        assert len(set(task.hidden.tests)) == 10
        for call in task.hidden.tests:
            expression = ast.parse(call, mode="eval").body
            assert isinstance(expression, ast.Call)
            assert isinstance(expression.func, ast.Name)
            assert expression.func.id == task.function_name
            for argument in expression.args:
                ast.literal_eval(argument)


def test_every_decision_changes_some_output_whichever_other_option_is_taken() -> None:
    for task in load("backend"):
        family, theme, design = origin(task)
        assert family.source(theme, design) == task.hidden.reference
        expected = run(task.hidden.reference, task)
        for decision in family.decisions:
            for option in decision.options:
                if option is design[decision.name].option:
                    continue
                mutant = family.source(theme, design | {decision.name: option.choices()[0]})
                assert run(mutant, task) != expected, (task.id, decision.name, option)


def test_every_number_matters_to_its_neighbours() -> None:
    for task in load("backend")[:114]:
        family, theme, design = origin(task)
        expected = run(task.hidden.reference, task)
        for name, chosen in design.items():
            values = sorted(chosen.option.values, key=str)
            others = [value for value in values if value != chosen.value]
            told = [
                run(
                    family.source(
                        theme, design | {name: Choice(option=chosen.option, value=value)}
                    ),
                    task,
                )
                != expected
                for value in others
            ]
            assert not others or any(told), (task.id, name)


def test_a_task_survives_the_official_schema() -> None:
    for task in load("backend")[:40]:
        assert task_from_row(row_from_task(task)) == task


def test_loading_again_is_cheap_and_hands_out_a_list_of_its_own() -> None:
    load("backend").clear()
    started = time.perf_counter()
    assert load("backend")
    assert time.perf_counter() - started < 0.01


def test_an_unknown_set_is_the_users_mistake_and_names_those_there_are() -> None:
    with pytest.raises(UserError, match=r"bundled:middle.*bundled:backend, bundled:frontend"):
        load("middle")
