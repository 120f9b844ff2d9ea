"""Results of before a method was revised: which they are, and how the report shows it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sweet_rl_trainer.study.first.methods import METHODS, NAMED
from sweet_rl_trainer.study.first.report import markdown, summary
from sweet_rl_trainer.study.first.results import Exchange
from sweet_rl_trainer.study.first.stale import marked, notice, stale, stamped

pytestmark = pytest.mark.weekly

RELEASED = NAMED["released"]
LABEL = "SWEET-RL, as in the released code"


def of_before(results):
    """Return the same results, made before any method was revised."""
    kinds = ("rows", "critics", "credits", "scaling")
    return replace(
        results,
        **{
            kind: tuple(replace(each, revision=0) for each in getattr(results, kind))
            for kind in kinds
        },
    )


def test_results_of_the_present_methods_are_not_stale(make):
    results = make.whole()
    assert stale(results) == []
    assert notice(results) == ""
    assert "†" not in markdown(results, {})


def test_a_stale_row_is_marked_wherever_it_is_named_with_the_reason_and_the_command(make):
    page = markdown(of_before(make.whole()), {})
    labels = page.count(LABEL)
    assert labels == page.count(f"{LABEL} †") > 10
    assert page.count("†") == labels + 1
    told = page.partition("**Stale.**")[2].partition("## ")[0]
    assert RELEASED.revisions[0] in told
    assert "`sweet-rl study --scale cpu --seeds 3 --only released`" in told


def test_the_console_marks_it_as_well(make):
    names = summary(of_before(make.whole())).columns[0].cells
    assert [each for each in names if "†" in each] == [f"{LABEL} †"]


def test_a_part_that_is_made_again_is_no_longer_stale(make):
    old = of_before(make.results([make.row("released", {"a": "1"}), make.row("rft", {"a": "1"})]))
    assert stale(old) == [RELEASED]
    again = make.results([make.row("released", {"a": "0"})])
    assert stale(again) == []


def test_an_exchange_is_as_old_as_its_methods(make):
    part = Exchange(asker="released", writer="rft", seed=0, test=(), folder="x")
    assert stamped(part).revision == len(RELEASED.revisions)
    results = replace(make.results(), exchanges=(part,))
    assert stale(results) == [RELEASED]


def test_a_label_that_begins_another_one_is_marked_alone():
    text = "| SWEET-RL | SWEET-RL, anchored |"
    assert marked(text, [NAMED["sweet"]]) == "| SWEET-RL † | SWEET-RL, anchored |"
    assert marked(text, METHODS) == "| SWEET-RL † | SWEET-RL, anchored † |"
