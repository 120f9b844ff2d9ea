"""How scores of candidates go with their returns, against counts by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from functools import partial

from msgspec.structs import replace

from colbench.messages import Message
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.study.credit import RANKED, RETURNED, agreements, credit, questions_first
from sweet_rl_trainer.study.credit import read as stored
from sweet_rl_trainer.study.results import Credit
from sweet_rl_trainer.study.sections import credited

ANSWER, OTHER = "I WANT TO ANSWER: 1", "And what else?"


def ranked(task, candidates, name="d"):
    """`"1/3a 2/0q"`: an answer with score 1 and return 3, a question with 2 and 0; `?`: none. Both rankings."""
    dialogue = Trajectory(
        id=f"{task}-{name}",
        task_id=task,
        task_hash=task,
        domain="backend",
        messages=(Message(role="user", content="Write it."),),
        said=(),
        reward=0.0,
        privileged="def f(): pass",
        ended_by="answer",
    )
    words = candidates.split()
    replies = tuple(Reply(text=ANSWER if each[-1] == "a" else OTHER) for each in words)
    turn = Candidates(turn=Turn(trajectory=dialogue, number=0), replies=replies)
    return [
        Scored(
            candidates=turn,
            scores=tuple(None if each == "?" else float(each) for each in values),
            lengths=(1,) * len(words),
        )
        for values in zip(*(each[:-1].split("/") for each in words), strict=True)
    ]


def found(*turns):
    scored, returned = zip(*turns, strict=True)
    return {each.kind: (each.pairs, each.share[0]) for each in agreements(scored, returned[::-1])}


def test_two_candidates_agree_where_scores_and_returns_have_one_order():
    assert found(ranked("t", "1/0q 2/1q 5/1a 3/3a 4/2a")) == {
        "any two": (9, pytest.approx(6 / 9)),
        "two that ask on": (1, 1.0),
        "two answers": (3, 0.0),
        "one of each": (5, 1.0),
    }


def test_equal_returns_say_nothing_equal_scores_are_half_and_no_score_is_left_out():
    assert found(ranked("t", "1/2q 2/2q ?/3q 2/?q 2/1q")) == {
        "any two": (2, pytest.approx((0 + 0.5) / 2)),
        "two that ask on": (2, pytest.approx((0 + 0.5) / 2)),
    }


def test_each_task_counts_the_same_and_in_it_each_turn():
    turns = [
        ranked("one", "1/1q 2/2q", "a"),  # 1
        ranked("one", "3/1q 2/2q 1/3q", "b"),  # 0
        ranked("other", "1/1q 2/2q"),  # 1
    ]
    assert found(*turns)["any two"] == (5, pytest.approx((0.5 + 1) / 2))


def test_questions_first_is_a_coin_but_between_a_question_and_an_answer():
    _, returned = ranked("t", "0/0q 0/1q 0/1a 0/3a 0/2a")
    shares = {
        each.kind: (each.pairs, each.share[0])
        for each in agreements([questions_first(returned)], [returned])
    }
    assert shares == {
        "any two": (9, pytest.approx((0.5 + 3 * 0.5 + 0) / 9)),
        "two that ask on": (1, 0.5),
        "two answers": (3, 0.5),
        "one of each": (5, 0.0),
    }


def test_rankings_of_a_study_are_compared(small_recipe, tmp_path):
    recipe = read(str(small_recipe), ["rank.scores=pmi"])
    *before, last = plan(recipe, "rank")
    for stage in (*before, last):
        stage.run(tmp_path)
    same = Stage(
        name="credit",
        act=partial(credit, recipe=recipe),
        settings={},
        inputs={**last.inputs, RANKED: last, RETURNED: last},
    )
    said = same.run(tmp_path).said
    kinds = stored(same.folder(tmp_path))
    assert said == {"agreement": 1.0}
    assert {each.share[0] for each in kinds} == {1.0}
    assert sum(each.pairs for each in kinds if each.kind == "any two") > 0


def test_the_table_has_a_row_for_each_method_and_nothing_for_a_kind_that_was_not_found(make):
    scored, returned = ranked("t", "1/1q 2/2q")
    found = Credit(method="pmi", seed=0, agreements=agreements([scored], [returned]))
    assert credited(make.results()) is None
    head, _, line = credited(replace(make.results(), credits=(found,))).split("\n")
    assert head == "| scores of | any two | two that ask on | two answers | one of each |"
    assert line.startswith("| PMI scorer, no critic | 100.0 % (")
    assert line.endswith(" of 1 | – | – |")
