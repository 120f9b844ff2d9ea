"""Tasks of any seed: what a description may say, and what it must not."""

from __future__ import annotations

import pytest

from colbench.errors import UserError
from colbench_tasks.families import FAMILIES
from colbench_tasks.generated import load


def test_a_seed_gives_the_same_tasks_and_another_seed_quite_others() -> None:
    one, again, other = (load(f"backend/{seed}?number=45") for seed in ("mine", "mine", "yours"))
    assert one == again
    assert len(one) == 45
    assert not {task.request for task in one} & {task.request for task in other}


def test_families_and_difficulty_are_those_asked_for() -> None:
    tasks = load("backend/mine?number=9&difficulty=5&families=parking,hotel")
    assert [task.family for task in tasks] == ["parking", "hotel"] * 4 + ["parking"]
    assert {task.difficulty for task in tasks} == {5}
    assert len({task.id for task in tasks}) == 9


def test_a_difficulty_leaves_out_families_with_fewer_decisions() -> None:
    families = {task.family for task in load("backend/mine?number=200&difficulty=6")}
    assert families == {f.name for f in FAMILIES.values() if len(f.decisions) >= 6}


def test_pages_of_a_seed() -> None:
    tasks = load("frontend/mine?number=3")
    assert [task.domain for task in tasks] == ["frontend"] * 3


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "expected generated:backend/SEED"),
        ("backend", "expected generated:backend/SEED"),
        ("middle/mine", "expected generated:backend/SEED"),
        ("backend/a b", "expected generated:backend/SEED"),
        ("backend/mine?size=3", "unknown field `size`"),
        ("backend/mine?number", "bad query field"),
        ("backend/mine?number=many", "number"),
        ("backend/mine?number=0", "number"),
        ("backend/mine?difficulty=2", "difficulty"),
        ("backend/mine?difficulty=99", "difficulty"),
        ("backend/mine?families=parking,eggs", "no family 'eggs'"),
        ("frontend/mine?difficulty=3", "difficulty is for backend tasks"),
        ("frontend/mine?families=parking", "no family 'parking'"),
    ],
)
def test_a_description_that_cannot_be_met_says_what_is_wrong(argument: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        load(argument)
    assert f"generated:{argument}" in str(raised.value)
