"""The checkpoint and the learning rate that validation chooses."""

from __future__ import annotations

import pytest

from sweet_rl_trainer.study.first.choose import best_step, best_try, quality

pytestmark = pytest.mark.weekly


def test_quality_is_the_share_of_successes_and_of_tests_passed(make):
    (step,) = make.tried((0, "01+1")).curve
    assert quality(step) == (0.5, 0.8125)


def test_the_best_checkpoint_is_the_earliest_of_equal_ones(make):
    assert best_step(make.tried((0, "0001"), (5, "0111"), (10, "0111"), (15, "0011"))).step == 5


def test_of_equal_successes_tests_decide(make):
    assert best_step(make.tried((0, "0011"), (5, "0+11"), (10, "0+11"), (15, "++01"))).step == 5
    tries = [make.tried((0, "0011"), rate=1e-4), make.tried((0, "0+11"), rate=1e-3)]
    assert best_try(tries).rate == 1e-3


def test_the_base_is_chosen_where_training_only_harms(make):
    assert best_step(make.tried((0, "0011"), (5, "0001"), (10, "0011"))).step == 0


def test_the_best_rate_is_the_lowest_of_those_with_equally_good_checkpoints(make):
    tries = [
        make.tried((0, "0000"), (5, "0011"), rate=3e-4),
        make.tried((0, "0000"), (5, "0111"), rate=1e-3),
        make.tried((0, "0000"), (5, "0000"), (10, "1011"), rate=1e-4),
    ]
    assert best_try(tries).rate == 1e-4
    assert best_try(tries[:2]).rate == 1e-3
