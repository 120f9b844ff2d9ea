"""The credit of turns, compared with worked examples, and its sum."""

from __future__ import annotations

import random

import pytest

from sweet_rl_trainer.methods.credit.advantage import (
    advantages,
    answer_advantage,
    question_advantage,
)


def test_questions_earn_the_rise_of_the_potential_and_the_answer_the_rest():
    assert advantages([0.25, 0.5, 0.5, 0.875], 1.0, cost=0.0625) == [0.1875, -0.0625, 0.3125, 0.125]
    assert advantages([0.25], 0.0) == [-0.25]


def test_a_single_turn_gets_its_credit_from_the_potentials_around_it():
    assert question_advantage(0.25, 0.75, cost=0.125) == 0.375
    assert answer_advantage(0.75, 0.5) == -0.25


@pytest.mark.parametrize("cost", [0.0, 0.03])
def test_the_sum_telescopes_to_the_reward_for_any_potential(cost):
    chance = random.Random(7)
    for turns in range(1, 12):
        potentials = [chance.gauss(0, 5) for _ in range(turns)]
        reward = chance.random()
        found = advantages(potentials, reward, cost=cost)
        assert len(found) == turns
        assert sum(found) == pytest.approx(reward - potentials[0] - cost * (turns - 1), abs=1e-12)
