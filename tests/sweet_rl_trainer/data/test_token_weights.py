from __future__ import annotations

import pytest

from colbench.errors import UserError
from sweet_rl_trainer.data.token_weights import RULES, weigh

TURNS = [-1, -1, 0, 0, 0, 0, -1, 1, 1, -1, 2]
"""Turns of 4, 2 and 1 tokens."""


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("turn-mean", [1 / 4, 1 / 2, 1]),
        ("turn-mean-averaged", [1 / 12, 1 / 6, 1 / 3]),
        ("trajectory-mean", [1 / 7, 1 / 7, 1 / 7]),
        ("sum", [1, 1, 1]),
    ],
)
def test_each_rule_gives_a_token_the_weight_of_its_turn(rule, expected):
    assert weigh(TURNS, rule) == pytest.approx([0 if t < 0 else expected[t] for t in TURNS])


def test_the_weights_of_each_turn_add_up_as_the_rule_defines():
    by_rule = {
        rule: [sum(w for w, t in zip(weigh(TURNS, rule), TURNS, strict=True) if t == turn)
               for turn in range(3)]
        for rule in RULES
    }  # fmt: skip
    assert by_rule["turn-mean"] == pytest.approx([1, 1, 1])
    assert sum(by_rule["turn-mean-averaged"]) == pytest.approx(1)
    assert sum(by_rule["trajectory-mean"]) == pytest.approx(1)
    assert by_rule["sum"] == [4, 2, 1]


def test_a_method_can_weigh_tokens_with_its_own_function():
    weights = weigh(TURNS, lambda turns: [float(turn == max(turns)) for turn in turns])
    assert weights == [0.0] * (len(TURNS) - 1) + [1.0]


@pytest.mark.parametrize("rule", RULES)
def test_two_spans_of_a_turn_are_weighed_as_one_turn(rule):
    assert weigh([0, -1, 0], rule) == [weigh([0, 0], rule)[0], 0, weigh([0, 0], rule)[1]]


@pytest.mark.parametrize("rule", RULES)
def test_tokens_outside_turns_have_weight_0(rule):
    assert weigh([-1, -1], rule) == [0, 0]
    assert weigh([], rule) == []


def test_an_unknown_rule_is_refused_and_the_known_rules_are_listed():
    with pytest.raises(UserError, match="'mean': expected one of turn-mean, .*, sum"):
        weigh([0], "mean")
