"""Scores by the returns of given continuations; `test_continuations` runs real ones."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.task import Hidden, Task
from sweet_rl_trainer.methods.ranking.returns import score_by_returns
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn

TASK = Task(id="late", domain="backend", request="Write it.", hidden=Hidden(reference="def f(): 0"))
REWARDS = {"x": [1.0, 0.5], "y": [0.0], "z": []}


def test_each_wording_is_continued_once_and_scored_by_its_mean_reward(chat, dialogue):
    asked = []

    def continuations(openings, count):
        asked.extend((each.replies[-1], count) for each in openings)
        return [REWARDS[each.replies[-1]] for each in openings]

    known, unknown = dialogue(task_hash=TASK.hash), dialogue(task_hash="another")
    turns = [
        Candidates(
            turn=Turn(trajectory=trajectory, number=1),
            replies=tuple(Reply(text=text) for text in ("x", "y", " x", "z")),
        )
        for trajectory in (known, unknown)
    ]
    dropped = Counter()
    tasks = {TASK.hash: TASK}
    found, other = score_by_returns(turns, tasks, chat, continuations, count=2, dropped=dropped)
    assert asked == [("x", 2), ("y", 2), ("z", 2)]
    assert other is None
    assert found.scores == (0.75, 0.0, 0.75, None)
    assert found.lengths == (2, 2, 3, 2), "bytes, and the token that ends a reply"
    assert dropped == {"turns of unknown tasks": 1, "candidates without a return": 1}
