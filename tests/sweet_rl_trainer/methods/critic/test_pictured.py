"""The plan of a vision critic with the shape of the paper's critic."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from sweet_rl_trainer.data.estimated_chat import EstimatedChat
from sweet_rl_trainer.data.examples import NothingLeftError
from sweet_rl_trainer.data.pairs import NoPairsError
from sweet_rl_trainer.methods.critic.pictured import estimate, estimate_training
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.pipeline.stage import Amount, Known

GIB = 2**30


@pytest.fixture
def qwen(tmp_path):
    """Return a folder with the configuration of Qwen2-VL-7B, and no weights."""
    text = {"num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}
    widths = {"hidden_size": 3584, "intermediate_size": 18_944, "vocab_size": 152_064}
    transformers.Qwen2VLConfig(
        text_config={**text, **widths}, vision_config={"hidden_size": 3584}
    ).save_pretrained(tmp_path)
    return tmp_path


def test_steps_and_memory_of_the_paper_critic_are_estimated_from_its_config(qwen):
    recipe = read("paper-frontend-8b")
    amounts = {"data": Amount(examples=1000, tokens=6_000_000)}
    known = Known(inputs={"model": qwen}, amounts=amounts, said=None)
    found = estimate_training(known, recipe)
    assert (found.steps, found.tokens) == (1000, 48_000_000)
    weights = 18 * 8_291_375_616 / 8
    row = 2 * 8192 * ((12 * 3584 + 4 * 18_944) * 2 + 28 * 3584 * 4)
    patches = 2 * 11 * 4 * 256
    tower = patches * ((12 * 1280 + 4 * 5120) * 2 + 32 * 1280 * 4)
    whole = 6 * 8_291_375_616
    assert found.memory - (max(weights, whole) + row + tower) < GIB
    assert found.memory < 80 * GIB

    more = read("paper-frontend-8b", [f"critic.vision.max_pixels={2 * 256 * 28 * 28}"])
    assert estimate_training(known, more).memory == found.memory + tower


def test_dialogues_are_not_counted_before_they_are_collected(qwen):
    known = Known(inputs={}, amounts={"collected0": Amount()}, said=None)
    found = estimate(known, read("paper-frontend-8b"), lambda *_: pytest.fail("nothing to count"))
    assert found.note == "known after the dialogues are collected"


@pytest.mark.parametrize("seen", [True, False])
def test_too_long_dialogues_add_a_note_to_the_plan_and_are_not_refused(
    seen, official, tmp_path, build_vision_model
):
    def too_long(_, chat):
        assert isinstance(chat, EstimatedChat) is not seen
        raise NothingLeftError("none is left (too long: 2)", dropped={}, too_long=True)

    inputs = {"official0": official(tasks=4)}
    if seen:
        build_vision_model(tmp_path / "critic", ["Make a page."])
        inputs["critic-model"] = tmp_path / "critic"
    known = Known(inputs=inputs, amounts={}, said=None)
    found = estimate(known, read("paper-frontend-8b", ["data.held_out=0"]), too_long)
    assert found == Amount(note="none is left (too long: 2)", about=not seen)


def test_dialogues_without_a_pair_are_reported_as_missing_data(official):
    def no_pair(*_):
        raise NoPairsError("no task has a pair")

    known = Known(inputs={"official0": official(tasks=4)}, amounts={}, said=None)
    found = estimate(known, read("paper-frontend-8b", ["data.held_out=0"]), no_pair)
    assert found.missing == "no task has a pair"
