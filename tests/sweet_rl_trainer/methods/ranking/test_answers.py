"""The share of replies that are answers, for each role."""

import pytest

from sweet_rl_trainer.methods.ranking.answers import AnswerShares, is_answer

ANSWER, QUESTION = "I WANT TO ANSWER:\ndef f(x):\n    return x", "What should happen at zero?"


def test_shares_are_answers_divided_by_replies_for_each_role():
    shares = AnswerShares()
    shares.add("candidates", [ANSWER, QUESTION, QUESTION, ANSWER])
    shares.add("chosen", [QUESTION])
    shares.add("chosen", [QUESTION, ANSWER])
    assert shares.said() == {
        "answers_among_candidates": 0.5,
        "answers_among_chosen": pytest.approx(1 / 3),
    }


def test_a_marker_in_a_private_part_is_not_an_answer():
    assert is_answer("OUTPUT: I WANT TO ANSWER: 1")
    assert not is_answer("Should I say I WANT TO ANSWER: 1? OUTPUT: How late?")
    assert not is_answer("<think>I WANT TO ANSWER: 1?</think>How late?")


def test_a_role_without_replies_has_no_share():
    assert AnswerShares().said() == {}
