"""The offset for answers, compared with worked examples."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.messages import Message
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.calibrate import offset, shifted
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn

ANSWER = "I WANT TO ANSWER: 1"


def turn(reward, answers, others, *, number=1, ended_by="answer"):
    """Return a turn of a dialogue with two turns, with the scores of its candidates."""
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
"""Failed dialogues: the answers score 6 and 4 below the other replies."""
SUCCEEDED = [turn(1.0, (-2.0,), (-1.0,)), turn(1.0, (0.0,), (0.5,))]
"""Successful dialogues: the answers score 1 and 0.5 below the other replies."""


def test_the_offset_puts_answers_above_others_only_in_successful_dialogues():
    by = offset(FAILED + SUCCEEDED)
    assert by == pytest.approx(2.5)  # the middle of -4 and -1
    gaps = [
        sum(each.scores[:n]) / n - sum(each.scores[n:]) / (len(each.scores) - n)
        for each in shifted(FAILED + SUCCEEDED, by)
        for n in [sum(reply.text == ANSWER for reply in each.candidates.replies)]
    ]
    assert gaps == pytest.approx([-3.5, -1.5, 1.5, 2.0])


def test_the_offset_tolerates_an_outlier_that_no_offset_can_fit():
    late = turn(0.0, (3.0,), (0.0,))  # an answer that scores high and failed
    assert offset([*FAILED, *SUCCEEDED, late]) == pytest.approx(2.5)


def test_the_shares_of_successes_and_failures_have_equal_weight():
    failed = [
        turn(0.0, (-0.75 + n / 100,), (0.0,)) for n in range(9)
    ]  # all above the first success
    # from -4 to -1 both successes are right and 2 of 11 failures, from -0.67 to -0.5 one of 2 and all failures
    assert offset([*FAILED, *SUCCEEDED, *failed]) == pytest.approx((0.67 + 0.5) / 2)
    assert offset([*FAILED, *SUCCEEDED, *failed[:1]]) == pytest.approx(2.5)


def test_the_middle_of_the_widest_range_is_chosen_among_equal_offsets():
    turns = [turn(0.0, (0.0,), (0.0,)), turn(1.0, (1.0,), (0.0,)), turn(0.0, (2.0,), (0.0,))]
    turns += [turn(1.0, (5.0,), (0.0,))]
    assert offset(turns) == pytest.approx(-3.5)


def test_only_answered_turns_with_both_kinds_of_scored_replies_count():
    others = [
        turn(1.0, (-9.0,), (0.0,), number=0),
        turn(0.0, (9.0,), (0.0,), ended_by="limit"),
        turn(0.0, (9.0,), ()),
        turn(0.0, (None,), (0.0,)),
    ]
    assert offset([*FAILED, *SUCCEEDED, *others]) == pytest.approx(2.5)


@pytest.mark.parametrize("turns", [[], FAILED, SUCCEEDED, [FAILED[0], turn(1.0, (-6.0,), (0.0,))]])
def test_the_offset_is_none_unless_successes_and_failures_differ(turns):
    assert offset(turns) is None


def test_a_shift_changes_only_known_scores_of_answers():
    (found,) = shifted([turn(1.0, (1.0, None), (3.0, None))], 0.5)
    assert found.scores == (1.5, None, 3.0, None)
