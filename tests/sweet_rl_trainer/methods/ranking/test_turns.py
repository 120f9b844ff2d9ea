"""The turns at which candidates are sampled."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from sweet_rl_trainer.methods.ranking.turns import turns_of


@pytest.fixture
def dialogues(dialogue):
    ends = ("answer", "limit", "answer", "answer")
    return [dialogue(f"d{n}", ended_by=ended) for n, ended in enumerate(ends)]


def names(turns):
    return [(each.trajectory.id, each.number) for each in turns]


def test_turns_are_taken_in_order_from_a_share_of_the_dialogues(dialogues):
    assert names(turns_of(dialogues)) == [(f"d{n}", turn) for n in range(4) for turn in (0, 1)]
    half = {each for each, _ in names(turns_of(dialogues, data_fraction=0.5))}
    assert len(half) == 2


def test_all_answers_adds_the_last_turns_of_the_other_answered_dialogues(dialogues):
    half = names(turns_of(dialogues, data_fraction=0.5))
    more = names(turns_of(dialogues, data_fraction=0.5, all_answers=True))
    taken = {each for each, _ in half}
    assert [each for each in more if each[0] in taken] == half
    assert [each for each in more if each[0] not in taken] == [
        (f"d{n}", 1) for n in (0, 2, 3) if f"d{n}" not in taken
    ]
