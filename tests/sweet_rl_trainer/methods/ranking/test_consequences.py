"""Scores by consequences, with a known potential; `pipeline/test_acts` uses real dialogues."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.task import Hidden, Task
from sweet_rl_trainer.agents.continuations import Consequence
from sweet_rl_trainer.methods.ranking.consequences import score_by_consequences
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn

TASK = Task(id="late", domain="backend", request="Write it.", hidden=Hidden(reference="def f(): 0"))
CONSEQUENCES = {
    "How late?": Consequence(said="How late?", heard="A day.", reward=None),
    "Why?": Consequence(said="Why?", heard="I don't know.", reward=None),
    "right": Consequence(said="right", heard=None, reward=1.0),
    "wrong": Consequence(said="wrong", heard=None, reward=0.25),
    "silence": None,
}
POTENTIALS = {"Write it.": 0.25, "No.": 0.5, "A day.": 0.875, "I don't know.": 0.5}


def potential(states):
    """Return the potential of each state, given by the human's last message."""
    return [POTENTIALS[each.heard[-1]] for each in states]


def turns(trajectory, *numbers):
    replies = tuple(
        Reply(text=text) for text in ("How late?", "right", " right", "Why?", "wrong", "silence")
    )
    return [
        Candidates(turn=Turn(trajectory=trajectory, number=n), replies=replies) for n in numbers
    ]


def test_questions_earn_the_rise_of_the_potential_and_answers_the_rest(chat, dialogue):
    said = []

    def play(openings):
        said.extend((len(each.replies), each.replies[-1]) for each in openings)
        return [CONSEQUENCES[each.replies[-1]] for each in openings]

    dropped = Counter()
    known, unknown = dialogue(task_hash=TASK.hash), dialogue(task_hash="another")
    first, second, other = score_by_consequences(
        [*turns(known, 0, 1), *turns(unknown, 0)],
        {TASK.hash: TASK},
        chat,
        play,
        potential,
        cost=0.125,
        dropped=dropped,
    )
    assert said == [(n, text) for n in (1, 2) for text in WORDINGS]
    assert first.scores == (0.875 - 0.25 - 0.125, 0.75, 0.75, 0.5 - 0.25 - 0.125, 0.0, None)
    assert second.scores == (0.875 - 0.5 - 0.125, 0.5, 0.5, -0.125, -0.25, None)
    assert first.solved == second.solved == (False, True, True, False, False, False)
    assert first.lengths == (10, 6, 7, 5, 6, 8), "bytes, and the token that ends a reply"
    assert other is None
    assert dropped["turns of unknown tasks"] == 1
    assert dropped["candidates without a consequence or a potential"] == 2


WORDINGS = ("How late?", "right", "Why?", "wrong", "silence")


def test_candidates_without_a_known_potential_have_no_score(chat, dialogue):
    def unknown_potential(states):
        return [None for _ in states]

    def play(openings):
        return [CONSEQUENCES[each.replies[-1]] for each in openings]

    (found,) = score_by_consequences(
        turns(dialogue(task_hash=TASK.hash), 0),
        {TASK.hash: TASK},
        chat,
        play,
        unknown_potential,
        cost=0.0,
        dropped=Counter(),
    )
    assert found.scores == (None,) * 6
