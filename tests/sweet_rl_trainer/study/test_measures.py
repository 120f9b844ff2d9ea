"""Measures with intervals, compared with worked examples."""

from __future__ import annotations

from statistics import stdev

import pytest
from msgspec.structs import replace

from sweet_rl_trainer.study.measures import (
    difference,
    exchanged,
    passed,
    success,
    success_if_told,
    summary,
    told,
)


def test_a_mean_averages_over_tasks_and_then_over_seeds(make):
    found = summary({0: make.outcomes("1100"), 1: make.outcomes("1000")}, success)
    assert found.seeds == (0.5, 0.25)
    assert found.mean == pytest.approx(3 / 8)


def test_each_seed_counts_once_even_if_it_has_fewer_dialogues_that_count(make):
    found = summary(
        {0: make.outcomes("1000", told=4), 1: make.outcomes("1---", told=4)}, success_if_told
    )
    assert found.seeds == (0.25, 1.0)
    assert found.mean == pytest.approx(0.625)
    assert found.tasks.mean == pytest.approx(0.25), "task 0 succeeds, and the other three fail"


def test_the_interval_over_seeds_uses_student_t(make):
    by_seed = {0: make.outcomes("1100"), 1: make.outcomes("1000"), 2: make.outcomes("1111")}
    reach = summary(by_seed, success).reach
    quantile = 4.302652729911275  # for 2 degrees of freedom, from a table
    assert reach == pytest.approx(quantile * stdev([0.5, 0.25, 1.0]) / 3**0.5)
    assert summary({0: by_seed[0]}, success).reach is None


def test_a_difference_is_paired_by_seed_and_task(make):
    mine = {0: make.outcomes("110"), 1: make.outcomes("111"), 5: make.outcomes("000")}
    theirs = {0: make.outcomes("10"), 1: make.outcomes("010")}
    found = difference(mine, theirs, success)
    assert found.seeds == (0.5, pytest.approx(2 / 3))
    assert found.mean == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found.tasks.mean == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_a_difference_is_decided_if_both_intervals_exclude_0(make):
    none = {seed: make.outcomes("0" * 40) for seed in range(3)}
    much = {seed: make.outcomes("1" * (30 + seed) + "0" * (10 - seed)) for seed in range(3)}
    assert difference(much, none, success).decided
    assert difference(none, much, success).decided
    assert not difference(much, much, success).decided
    assert not difference({0: much[0]}, {0: none[0]}, success).decided, "one seed says nothing"
    varied = none | {2: make.outcomes("1" * 40)}
    assert not difference(varied, none, success).decided, "seeds differ too much"


def test_success_if_told_covers_only_answers_after_all_facts_were_told(make):
    some, every = make.outcomes("10"), make.outcomes("1-0", told=4)
    assert [success_if_told(each) for each in some] == [None, None]
    assert [success_if_told(each) for each in every] == [1.0, None, 0.0]
    assert summary({0: every}, success_if_told).mean == 0.5
    assert summary({0: some}, success_if_told) is None


def test_the_share_of_facts_told_excludes_tasks_without_hidden_facts(make):
    outcome = make.outcomes("1", told=1)[0]
    assert told(outcome) == 0.25
    assert told(replace(outcome, told=0, hidden=0)) is None
    assert passed(make.outcomes("+")[0]) == 0.75


def test_a_policy_that_asks_and_writes_gets_its_own_row(make):
    rows = [make.row("rft", 0, "10")]
    found = make.results(rows, exchanges=(make.exchange("rft", "oracle", 0, "11"),))
    assert exchanged(found, "rft", "rft") == {0: rows[0].test}
    assert exchanged(found, "rft", "oracle") == {0: make.outcomes("11")}
    assert exchanged(found, "oracle", "rft") == {}
