"""How often answers score higher, by what is hidden, against counts by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.messages import Message
from colbench.task import Fact, Hidden, Task
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn
from sweet_rl_trainer.study.sections import timed as table
from sweet_rl_trainer.study.timing import timed

ANSWER, OTHER = "I WANT TO ANSWER: 1", "And what else?"


def task(name, *open_facts):
    facts = (
        *(Fact(name=words, topics=(words,), statement=words) for words in open_facts),
        Fact(name="said", topics=("said",), statement="It was said.", stated=True),
    )
    hidden = Hidden(reference="def f(): pass", tests=("f()",), facts=facts)
    return Task(id=name, domain="backend", request="Write it.", hidden=hidden)


A, B = task("a", "Five.", "Red."), task("b", "Two.")


def scored(task, heard, turn, scores):
    """`"1a 2q"`: an answer with score 1, a question with 2; `?a`: without a score."""
    messages = [Message(role="user", content="Write it.")]
    for words in heard:
        messages += [Message(role="assistant", content="?"), Message(role="user", content=words)]
    dialogue = Trajectory(
        id=f"{task.id}{turn}",
        task_id=task.id,
        task_hash=task.hash,
        domain="backend",
        messages=(*messages, Message(role="assistant", content=ANSWER)),
        said=(*("?" for _ in heard), ANSWER),
        reward=0.0,
        privileged="def f(): pass",
        ended_by="answer",
    )
    texts, values = [], []
    for each in scores.split():
        texts.append(Reply(text=ANSWER if each[-1] == "a" else OTHER))
        values.append(None if each[0] == "?" else float(each[:-1]))
    return Scored(
        candidates=Candidates(turn=Turn(trajectory=dialogue, number=turn), replies=tuple(texts)),
        scores=tuple(values),
        lengths=(1,) * len(values),
    )


def shares(turns, *tasks):
    found = timed(turns, {each.hash: each for each in tasks})
    return {each.hidden: (each.turns, each.share[0]) for each in found}


def test_turns_are_counted_by_what_is_hidden_before_them():
    heard = ("Five.", "No.", "It is Red.")
    turns = [scored(A, heard, n, "1a 2q") for n in range(4)]
    assert shares(turns, A) == {0: (1, 0.0), 1: (2, 0.0), 2: (1, 0.0)}


def test_each_task_counts_the_same_and_in_it_each_turn_and_a_tie_is_half():
    turns = [
        scored(A, (), 0, "3a 1q 2q"),  # 1
        scored(A, (), 0, "1a 1q 2q 0q"),  # (0.5 + 0 + 1) / 3
        scored(task("c", "Six.", "Ten."), (), 0, "1a 4a 3q"),  # 0.5
    ]
    (each,) = timed(turns, {one.hash: one for one in (A, task("c", "Six.", "Ten."))})
    assert (each.hidden, each.turns) == (2, 3)
    assert each.share[0] == pytest.approx(((1 + 0.5) / 2 + 0.5) / 2)


def test_turns_without_an_answer_or_without_another_reply_say_nothing():
    turns = [scored(B, (), 0, "1q 2q"), scored(B, (), 0, "1a 2a"), scored(B, (), 0, "?a 2q 1q")]
    assert timed(turns, {B.hash: B}) == ()


def test_turns_of_tasks_that_are_not_known_are_left_out():
    assert timed([scored(B, (), 0, "1a 2q")], {A.hash: A}) == ()


def test_the_table_has_a_column_for_each_number(make):
    whole = make.whole()
    assert table(whole) is None
    found = timed([scored(B, ("Two.",), n, "1a 0q") for n in range(2)], {B.hash: B})
    critics = [make.timed(each, found) for each in whole.critics]
    lines = table(make.results(critics=tuple(critics))).split("\n")
    assert lines[0] == "| scores of | 0 hidden | 1 hidden |"
    assert lines[2].startswith("| SWEET-RL | 100.0 % (")
