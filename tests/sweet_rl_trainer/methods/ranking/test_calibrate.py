"""The constant for answers, against thresholds found by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.messages import Message
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.calibrate import offset, shifted
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn

ANSWER = "I WANT TO ANSWER: 1"


def turn(reward, answers, others, *, number=1, ended_by="answer"):
    """Return a turn of a dialogue with two, and the scores of its candidates."""
    said = ("What?", ANSWER)
    messages = [Message(role="user", content="Write it.")]
    for words in said:
        messages += [
            Message(role="assistant", content=words),
            Message(role="user", content="Well."),
        ]
    dialogue = Trajectory(
        id=f"{reward} {answers} {others}",
        task_id="a",
        task_hash="a",
        domain="backend",
        messages=tuple(messages[:-1]),
        said=said,
        reward=reward,
        privileged="def f(): pass",
        ended_by=ended_by,
    )
    texts = [ANSWER] * len(answers) + ["And then?"] * len(others)
    return Scored(
        candidates=Candidates(
            turn=Turn(trajectory=dialogue, number=number),
            replies=tuple(Reply(text=text) for text in texts),
        ),
        scores=(*answers, *others),
        lengths=(1,) * len(texts),
    )


FAILED = [turn(0.5, (-6.0,), (0.0,)), turn(0.0, (-5.0, -3.0), (-1.0, 1.0))]
"""Answers are 6 and 4 below other replies."""
SUCCEEDED = [turn(1.0, (-2.0,), (-1.0,)), turn(1.0, (0.0,), (0.5,))]
"""1 and 0.5 below."""


def test_answers_are_above_where_a_dialogue_succeeded_and_below_where_it_failed():
    by = offset(FAILED + SUCCEEDED)
    assert by == pytest.approx(2.5)  # the middle of -4 and -1
    gaps = [
        sum(each.scores[:n]) / n - sum(each.scores[n:]) / (len(each.scores) - n)
        for each in shifted(FAILED + SUCCEEDED, by)
        for n in [sum(reply.text == ANSWER for reply in each.candidates.replies)]
    ]
    assert gaps == pytest.approx([-3.5, -1.5, 1.5, 2.0])


def test_where_no_constant_is_right_everywhere_the_greatest_shares_are():
    late = turn(0.0, (3.0,), (0.0,))  # an answer that scores high and failed
    assert offset([*FAILED, *SUCCEEDED, late]) == pytest.approx(2.5)


def test_many_failures_count_no_more_than_few_successes():
    failed = [
        turn(0.0, (-0.75 + n / 100,), (0.0,)) for n in range(9)
    ]  # all above the first success
    # from -4 to -1 both successes are right and 2 of 11 failures, from -0.67 to -0.5 one of 2 and all failures
    assert offset([*FAILED, *SUCCEEDED, *failed]) == pytest.approx((0.67 + 0.5) / 2)
    assert offset([*FAILED, *SUCCEEDED, *failed[:1]]) == pytest.approx(2.5)


def test_of_constants_that_are_as_good_the_widest_range_counts():
    turns = [turn(0.0, (0.0,), (0.0,)), turn(1.0, (1.0,), (0.0,)), turn(0.0, (2.0,), (0.0,))]
    turns += [turn(1.0, (5.0,), (0.0,))]
    assert offset(turns) == pytest.approx(-3.5)


def test_only_the_turns_count_at_which_a_dialogue_answered():
    others = [
        turn(1.0, (-9.0,), (0.0,), number=0),
        turn(0.0, (9.0,), (0.0,), ended_by="limit"),
        turn(0.0, (9.0,), ()),
        turn(0.0, (None,), (0.0,)),
    ]
    assert offset([*FAILED, *SUCCEEDED, *others]) == pytest.approx(2.5)


@pytest.mark.parametrize("turns", [[], FAILED, SUCCEEDED, [FAILED[0], turn(1.0, (-6.0,), (0.0,))]])
def test_without_successes_and_failures_that_differ_there_is_no_constant(turns):
    assert offset(turns) is None


def test_a_shift_leaves_other_replies_and_what_has_no_score_alone():
    (found,) = shifted([turn(1.0, (1.0, None), (3.0, None))], 0.5)
    assert found.scores == (1.5, None, 3.0, None)
