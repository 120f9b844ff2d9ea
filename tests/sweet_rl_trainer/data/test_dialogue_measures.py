"""Measures of dialogues, compared with values computed by hand."""

from __future__ import annotations

import pytest

from colbench.messages import Sampled
from colbench.rollout import Rollout, Turn
from colbench.score import Score
from sweet_rl_trainer.data.dialogue_measures import dialogue_measures


def rollout(ended_by, *logprobs, success=None):
    """Return a dialogue with one turn for each tuple of log-probabilities."""
    turns = tuple(
        Turn(
            raw="a",
            said="a",
            sampled=Sampled(prompt=(1,), ids=tuple(range(len(each))), logprobs=each),
        )
        for each in logprobs
    )
    scores = {"default": Score(value=0.5, success=success, scorer="x")}
    return Rollout(
        key="k",
        task_id="t",
        task_hash="h",
        domain="backend",
        trial=0,
        seed=0,
        request="r",
        turns=turns,
        answer="a",
        ended_by=ended_by,
        scores=scores,
    )


def test_measures_are_means_over_dialogues_replies_and_tokens():
    found = dialogue_measures(
        [
            rollout("answer", (-1.0, -2.0), (-4.0,), success=True),
            rollout("limit", (-3.0, -2.0, -2.0), success=False),
            rollout("failure"),
        ]
    )
    assert found == pytest.approx(
        {
            "turns": 1.5,
            "unanswered": 2 / 3,
            "success": 0.5,
            "reply_tokens": 2.0,
            "entropy_turn_1": 2.0,
            "entropy_turn_2": 4.0,
        }
    )


def test_unknown_measures_are_left_out():
    assert dialogue_measures([]) == {}
    assert "success" not in dialogue_measures([rollout("answer", (-1.0,))])
