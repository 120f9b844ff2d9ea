"""What a study is made of, in its order; nothing is done."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.study.methods import NAMED
from sweet_rl_trainer.study.run import extended, parts
from sweet_rl_trainer.study.scales import read


class Asked:
    """A study that says what it is asked for; a row has the rate of the first seed's, or one of its own."""

    def row(self, method, seed, first):
        rate = first.rate if first else f"{method.name}'s"
        return SimpleNamespace(method=method.name, seed=seed, rate=rate)

    def critic(self, method, seed):
        return "critic", method.name, seed

    def counting(self):
        return ("counting",)

    def credit(self, method, seed):
        return "credit", method.name, seed

    def exchange(self, asker, writer):
        return "exchange", asker.method, writer.method, asker.seed

    def scaling(self, method, seed, share, rate):
        return "scaling", method.name, seed, share, rate


def asked(*names, seeds=2, exchanged=(), scaling=(), shares=(), repeated=("main",)):
    groups = {"repeated": repeated, "exchanged": exchanged, "scaling": scaling, "shares": shares}
    scale = replace(read("cpu"), **groups)
    methods = [NAMED[name] for name in names]
    found = parts(Asked(), SimpleNamespace(now=None), methods, scale, range(seeds))
    return [
        ("row", each.method, each.seed, each.rate) if isinstance(each, SimpleNamespace) else each
        for each in found
    ]


def test_the_main_rows_come_first_and_only_they_are_repeated():
    assert asked("rft", "pmi", "sweet") == [
        ("row", "rft", 0, "rft's"),
        ("row", "sweet", 0, "sweet's"),
        ("critic", "sweet", 0),
        ("row", "rft", 1, "rft's"),
        ("row", "sweet", 1, "sweet's"),
        ("critic", "sweet", 1),
        ("row", "pmi", 0, "pmi's"),
        ("critic", "pmi", 0),
        ("counting",),
    ]


def test_a_method_may_be_repeated_by_its_name():
    found = asked("sweet", "pmi", "returns", repeated=("main", "pmi"))
    assert [each[1:3] for each in found if each[0] == "row"] == [
        ("sweet", 0),
        ("sweet", 1),
        ("pmi", 0),
        ("returns", 0),
        ("pmi", 1),
    ]


def test_turns_are_counted_where_critics_are_judged():
    assert ("counting",) not in asked("zero-shot", "rft", "returns", "mtdpo")


def test_credit_is_had_with_the_returns():
    found = asked("sweet", "pmi", "returns", seeds=1)
    assert found[-3:] == [("credit", name, 0) for name in ("sweet", "pmi", "questions")]


def test_what_has_a_row_is_exchanged_and_the_first_seed_learns_from_less():
    names = ("rft", "sweet", "pmi")
    found = asked(*names, exchanged=names, scaling=("rft",), shares=(0.5, 0.25))
    exchanges = [each[1:] for each in found if each[0] == "exchange"]
    assert len(exchanges) == 6 + 2
    assert exchanges[6:] == [("rft", "sweet", 1), ("sweet", "rft", 1)]
    assert found[-2:] == [("scaling", "rft", 0, share, "rft's") for share in (0.5, 0.25)]


def test_a_part_is_kept_with_the_revision_of_its_method(make):
    old = make.row("released", {"a": "1"})
    results = extended(make.results(), replace(old, revision=0))
    assert [each.revision for each in results.rows] == [len(NAMED["released"].revisions)]
    assert (results.critics, results.costs) == ((), ())
