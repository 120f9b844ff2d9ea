"""The bundled task sets: sound, proved, varied, and the same on every machine."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from marking import mostly

from colbench.errors import UserError
from colbench.task import Task, row_from_task, task_from_row
from colbench_tasks.bundled import SETS, keep, lines, load
from colbench_tasks.families import FAMILIES
from colbench_tasks.family import Choice, Family, Theme, statements

INNOCENT = {"0", "1", "3", "5", "6", "7", "100"}
"""Numbers that requests may name regardless of the hidden values, such as ends of scales and days of a week."""


def run(source: str, task: Task) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return [eval(call, dict(namespace)) for call in task.hidden.tests]


def origin(task: Task) -> tuple[Family, Theme, dict[str, Choice]]:
    """Return family, theme and design of a task, found from its signature and the statements of its facts."""
    family = FAMILIES[task.family]
    theme = next(t for t in family.themes if task.request.endswith(family.signature(t)))
    design = {}
    for decision, fact in zip(family.decisions, task.hidden.facts, strict=True):
        assert decision.name == fact.name
        meant = [choice for choice, words in statements(decision, theme) if words == fact.statement]
        assert len(set(meant)) == 1, fact
        design[decision.name] = meant[0]
    return family, theme, design


def test_the_test_set_has_a_thousand_tasks_of_forty_families_and_every_difficulty() -> None:
    tasks = load("backend")
    assert len(tasks) == 1000
    assert len({task.family for task in tasks}) >= 40
    spread = Counter(task.family for task in tasks)
    assert max(spread.values()) - min(spread.values()) <= 1
    assert {task.difficulty for task in tasks} == {3, 4, 5, 6, 7, 8}


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly(pytest.mark.weekly, SETS, "backend/test"))
def test_a_set_matches_its_frozen_hash(name: str, tmp_path: Path) -> None:
    """Make the tasks again instead of reading the cache: `load` compares with the frozen hash."""
    environment = os.environ | {"COLBENCH_CACHE": str(tmp_path)}
    code = f"from colbench_tasks.bundled import load; print(len(load({name!r})))"
    command = [sys.executable, "-c", code]
    for _ in ("made", "read"):
        made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert made.stdout == f"{SETS[name].number}\n", made.stderr
    (kept,) = tmp_path.glob("tasks/*.jsonl")
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == SETS[name].sha256


@pytest.mark.weekly
def test_a_truncated_set_in_the_cache_is_generated_again(tmp_path: Path) -> None:
    environment = os.environ | {"COLBENCH_CACHE": str(tmp_path)}
    name = f"backend-test-{SETS['backend/test'].sha256[:12]}.jsonl"
    kept = tmp_path / "tasks" / name
    kept.parent.mkdir()
    kept.write_bytes(lines(load("backend"))[:5000])
    code = "from colbench_tasks.bundled import load; print(len(load('backend')))"
    made = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert made.stdout == "1000\n"
    assert kept.read_bytes() == lines(load("backend"))


def test_a_set_that_cannot_be_cached_is_generated_with_a_warning(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    code = "from colbench_tasks.bundled import load; print(len(load('frontend')))"
    made = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"COLBENCH_CACHE": str(no_folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == "500\n"
    assert made.stderr.count("\n") == 1
    assert "bundled:frontend/test cannot be cached and is regenerated each time" in made.stderr


def test_a_kept_file_has_ordinary_permissions(tmp_path: Path) -> None:
    ordinary, kept = tmp_path / "ordinary", tmp_path / "folder" / "kept"
    ordinary.touch()
    keep(kept, b"task\n")
    assert kept.read_bytes() == b"task\n"
    assert kept.stat().st_mode == ordinary.stat().st_mode


def test_a_file_that_cannot_be_kept_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="kept"):
        keep(tmp_path / "kept", b"task\n")
    assert os.listdir(tmp_path) == ["kept"]


def test_training_and_test_share_no_request_and_no_reference() -> None:
    for domain in ("backend", "frontend"):
        train, test = load(f"{domain}/train"), load(f"{domain}/test")
        assert not {task.request for task in train} & {task.request for task in test}
        assert not {task.hidden.reference for task in train} & {
            task.hidden.reference for task in test
        }


def test_ids_requests_and_references_are_all_different() -> None:
    for tasks in (load("backend/test"), load("backend/train")):
        for field in ("id", "request", "hash"):
            assert len({getattr(task, field) for task in tasks}) == len(tasks), field
        assert len({task.hidden.reference for task in tasks}) == len(tasks)


def test_the_first_tasks_are_of_different_families() -> None:
    pinned = SETS["backend/test"].families
    assert [task.family for task in load("backend")[: len(pinned)]] == list(pinned)


def test_a_request_ends_with_the_signature_and_reveals_no_hidden_value() -> None:
    for task in load("backend"):
        family, theme, design = origin(task)
        assert task.request.endswith(f"The signature of the function is: {family.signature(theme)}")
        assert "$" not in task.request
        hidden = [fact for fact in task.hidden.facts if not fact.stated]
        assert all(fact.statement not in task.request for fact in hidden)
        vague = task.request
        for fact in task.hidden.facts:
            if fact.stated:
                vague = vague.replace(f" {fact.statement} ", " ")
        told = set(re.findall(r"\d+", vague)) - INNOCENT
        assert not told & {str(design[fact.name].value) for fact in hidden}, task.request
        assert 3 <= len(hidden) <= 8


def test_a_reference_is_one_function_that_returns_the_same_values_twice() -> None:
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


@pytest.mark.weekly
def test_every_other_option_of_a_decision_changes_some_output() -> None:
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


def test_some_other_value_of_every_decision_changes_the_output() -> None:
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


def test_a_task_round_trips_through_the_official_schema() -> None:
    for task in load("backend")[:40]:
        assert task_from_row(row_from_task(task)) == task


def test_changing_the_returned_list_does_not_change_the_set() -> None:
    load("backend").clear()
    assert load("backend")


def test_an_unknown_set_is_a_user_error_that_lists_the_known_sets() -> None:
    with pytest.raises(
        UserError, match=r"bundled:middle.*bundled:backend/test, bundled:backend/train"
    ):
        load("middle")
