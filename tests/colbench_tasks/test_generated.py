"""Tasks generated from any seed: valid and invalid descriptions."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from functools import partial

import pytest

from colbench.errors import UserError
from colbench_tasks.families import FAMILIES
from colbench_tasks.generated import load


def test_a_seed_gives_the_same_tasks_and_another_seed_different_ones() -> None:
    one, again, other = (load(f"backend/{seed}?number=45") for seed in ("mine", "mine", "yours"))
    assert one == again
    assert len(one) == 45
    assert not {task.request for task in one} & {task.request for task in other}


def test_families_and_difficulty_match_the_description() -> None:
    tasks = load("backend/mine?number=9&difficulty=5&families=parking,hotel")
    assert [task.family for task in tasks] == ["parking", "hotel"] * 4 + ["parking"]
    assert {task.difficulty for task in tasks} == {5}
    assert len({task.id for task in tasks}) == 9


def test_a_difficulty_leaves_out_families_with_fewer_decisions() -> None:
    families = {task.family for task in load("backend/mine?number=200&difficulty=6")}
    assert families == {f.name for f in FAMILIES.values() if len(f.decisions) >= 6}


def test_a_seed_gives_frontend_tasks() -> None:
    tasks = load("frontend/mine?number=3")
    assert [task.domain for task in tasks] == ["frontend"] * 3


@pytest.mark.weekly
def test_a_progress_bar_is_shown_only_for_many_tasks_on_a_terminal() -> None:
    """Read standard error from a terminal or a pipe; few tasks, or a pipe, show no bar."""
    for number, on_terminal, barred in ((501, True, True), (4, True, False), (501, False, False)):
        assert (b"Making generated:frontend/mine" in written(number, on_terminal)) == barred


def written(number: int, on_terminal: bool) -> bytes:
    """Return the standard error, a terminal or a pipe, of a process that generates this many pages."""
    code = f"from colbench_tasks.generated import load; load('frontend/mine?number={number}')"
    ours, theirs = pty.openpty() if on_terminal else os.pipe()
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs) as process:
        os.close(theirs)
        said = b"".join(iter(partial(read, ours), b""))
    os.close(ours)
    assert process.returncode == 0, said
    return said


def read(descriptor: int) -> bytes:
    """Read from a descriptor; the end, which is an error on a terminal, returns no bytes."""
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "expected generated:backend/SEED"),
        ("backend", "expected generated:backend/SEED"),
        ("middle/mine", "expected generated:backend/SEED"),
        ("backend/a b", "expected generated:backend/SEED"),
        ("backend/mine?size=3", "unknown option `size`; known: number, difficulty, families"),
        (
            "backend/mine?number",
            r"options `number` cannot be read; .* `\?number=100&difficulty=6`$",
        ),
        ("backend/mine?number=many", "number"),
        ("backend/mine?number=0", "number=0: expected a whole number from 1 to 100,000$"),
        ("backend/mine?number=", "number=: expected a whole number"),
        ("backend/mine?number=100001", "number=100001: expected a whole number"),
        ("backend/mine?number=4&number=6", "number is given 2 times"),
        ("backend/mine?difficulty=2", "difficulty=2: expected a whole number from 3"),
        (
            "backend/mine?difficulty=99",
            "difficulty=99: no family has more than 8 decisions to hide",
        ),
        ("backend/mine?families=", "families=: a name is empty; expected names"),
        ("backend/mine?families=parking,", "families=parking,: a name is empty; expected names"),
        ("backend/mine?families=parking,parking", "parking is given 2 times"),
        ("backend/mine?families=parking&families=hotel", "families is given 2 times"),
        (
            "backend/mine?difficulty=8&families=parking",
            f"family parking has only {len(FAMILIES['parking'].decisions)} decisions",
        ),
        (
            "backend/mine?number=100000&families=parking",
            "family parking has only about .* request fewer tasks or more families",
        ),
        ("backend/mine?families=parking,eggs", "unknown family 'eggs'"),
        ("frontend/mine?difficulty=3", "difficulty applies only to backend tasks$"),
        ("frontend/mine?families=parking", "unknown family 'parking'"),
    ],
)
def test_an_invalid_description_is_refused_with_the_reason(argument: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        load(argument)
    assert f"generated:{argument}" in str(raised.value)
