"""Rejection fine-tuning: which dialogues are imitated."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError
from sweet_rl_trainer.methods.rft import successes
from sweet_rl_trainer.pipeline.inputs import Data


@pytest.mark.parametrize(
    ("at_least", "answered", "names"),
    [
        (1.0, False, ["won"]),
        (0.0, False, ["won", "lost", "silent"]),
        (0.0, True, ["won", "lost"]),
    ],
    ids=["successes", "all", "all with an answer"],
)
def test_imitated_dialogues_are_selected_by_reward_and_answer(
    at_least, answered, names, dialogue, chat
):
    made = [
        replace(dialogue(name), reward=reward, ended_by=end)
        for name, reward, end in (
            ("won", 1.0, "answer"),
            ("lost", 0.0, "answer"),
            ("silent", 0.0, "limit"),
        )
    ]
    data = Data(train=made, held_out=[], negatives=[], privileged=[], dropped={})
    found = successes(data, chat, at_least=at_least, answered=answered, max_length=1000)
    assert [side.trajectory for side in found.train] == names
    assert found.report.taken + sum(found.report.dropped.values()) == len(made)
    assert not found.held_out


def test_the_error_without_an_answer_names_the_setting(dialogue, chat):
    silent = [replace(dialogue(name), ended_by="limit") for name in "ab"]
    data = Data(train=silent, held_out=[], negatives=[], privileged=[], dropped={})
    with pytest.raises(
        DataError, match=r"^none of 2 dialogues ended with an answer \(rft\.answered\)$"
    ):
        successes(data, chat, at_least=0.0, answered=True, max_length=1000)


def test_privileged_dialogues_are_counted_and_a_template_without_a_success_is_skipped(
    dialogue, chat
):
    knowing = [replace(dialogue(f"p{n}"), reward=reward) for n, reward in enumerate((1.0, 0.0))]
    data = Data(train=[dialogue("d")], held_out=[], negatives=[], privileged=knowing, dropped={})
    options = {"at_least": 1.0, "max_length": 1000}
    found = successes(data, chat, privileged=("preamble", "released-order"), **options)
    assert [side.trajectory for side in found.train] == ["d", "p0"]
    assert found.report.taken == 2
    assert found.report.tokens == sum(side.tokens for side in found.train)
    assert found.report.dropped == {"a reward below 1": 1}
