"""Results in their file: what calls add, one after the other and at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from colbench.errors import DataError
from sweet_rl_trainer.study.results import Cost, Credit, Exchange, Scaling
from sweet_rl_trainer.study.stored import OLD, RESULTS, add, merged, read, set_aside


def found(results):
    return {(row.method, row.seed, len(row.test)) for row in results.rows}


def test_a_call_replaces_its_own_parts_and_keeps_the_others(make, tmp_path):
    rft, sweet = (
        [make.row(name, {"a": "1"}, seed=seed) for seed in (0, 1)] for name in ("rft", "sweet")
    )
    add(make.results([*rft, sweet[0]]), tmp_path)
    given = add(make.results([make.row("rft", {"a": "10"}, seed=1), sweet[1]]), tmp_path)
    assert found(given) == {("rft", 0, 1), ("rft", 1, 2), ("sweet", 0, 1), ("sweet", 1, 1)}
    assert read(tmp_path) == given


@pytest.mark.parametrize(
    ("kind", "part", "changes"),
    [
        (
            "exchanges",
            Exchange(asker="rft", writer="sweet", seed=0, test=(), folder="x"),
            {"writer": "mtdpo"},
        ),
        ("scaling", Scaling(method="rft", seed=0, share=0.5, tasks=1, test=()), {"share": 0.25}),
        ("credits", Credit(method="pmi", seed=0, agreements=()), {"method": "sweet"}),
        (
            "costs",
            Cost(key="a", stage="rft", method="rft", seed=0, seconds=1, memory=None),
            {"key": "b"},
        ),
    ],
)
def test_parts_stand_for_one_another_where_they_are_of_the_same_place(kind, part, changes, make):
    there = replace(make.results(), **{kind: (part,)})
    assert getattr(merged(there, there), kind) == (part,)
    other = replace(part, **changes)
    assert getattr(merged(there, replace(there, **{kind: (other,)})), kind) == (other, part)


def test_what_a_whole_study_no_longer_has_costs_nothing(make):
    def cost(key, seed=0):
        return Cost(key=key, stage="judge", method="rft", seed=seed, seconds=1, memory=None)

    there = make.results(costs=(cost("old"), cost("other seed", 1)))
    own = make.results(costs=(cost("new"),))
    kept = {each.key for each in merged(there, own).costs}
    assert kept == {"new", "old", "other seed"}, "another call's"
    kept = {each.key for each in merged(there, own, whole=True).costs}
    assert kept == {"new", "other seed"}


@pytest.mark.parametrize(
    "changes",
    [{"study": {"what": "else"}}, {"base": {"digest": "else"}}, {"version": "9"}],
)
def test_nothing_of_another_study_is_kept(changes, make):
    there = make.results([make.row("rft", {"a": "1"})])
    own = replace(make.results([make.row("sweet", {"a": "1"})]), **changes)
    assert merged(there, own) == own


@pytest.mark.parametrize("changes", [{}, {"study": {"what": "else"}}])
def test_results_of_another_study_are_set_aside(changes, make, tmp_path):
    there = make.results([make.row("rft", {"a": "1"})])
    own = replace(make.results(), **changes)
    assert set_aside(own, tmp_path) is None
    add(there, tmp_path)
    assert set_aside(own, tmp_path) == (tmp_path / OLD if changes else None)
    assert read(tmp_path) == (None if changes else there)
    assert (tmp_path / OLD).is_file() == bool(changes)


def test_calls_at_once_lose_nothing(make, tmp_path):
    own = [make.results([make.row("rft", {"a": "1"}, seed=seed)]) for seed in range(16)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda each: add(each, tmp_path), own))
    assert {row.seed for row in read(tmp_path).rows} == set(range(16))


def test_a_damaged_file_is_named(make, tmp_path):
    (tmp_path / RESULTS).write_text('{"rows": 3}')
    with pytest.raises(DataError, match=rf"{RESULTS}: .*; delete it to make it again"):
        add(make.results(), tmp_path)
