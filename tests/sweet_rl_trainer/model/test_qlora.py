"""Adapters on 4-bit weights."""

from __future__ import annotations

import json
import math
import random
from array import array
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from safetensors.torch import load_file
from transformers import TrainerCallback

from colbench.errors import UserError
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.export import merged
from sweet_rl_trainer.model.load import load_model, load_trained
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.train.run import train

torch.set_num_threads(1)

installed = find_spec("bitsandbytes") is not None
needs_bitsandbytes = pytest.mark.skipif(
    not installed, reason="bitsandbytes is not installed (colbench[qlora])"
)
IDS = torch.arange(24).reshape(2, 12) * 5 % 67
SHAPE = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16}
QLORA = LoraSettings(rank=4, quantize="4bit")
NF4 = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip
"""The 16 values of a weight within its block of 64, of which the greatest is 1: arXiv 2305.14314, appendix E."""


@pytest.fixture
def base(make_model, tmp_path):
    make_model(**SHAPE).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def logits(model):
    with torch.no_grad():
        return model(IDS).logits


def rounded(weight):
    """Return the weight with each value rounded to the nearest NF4 value, block by block."""
    blocks = weight.reshape(-1, 64)
    scale = blocks.abs().amax(1, keepdim=True)
    values = torch.tensor(NF4)
    nearest = (blocks[..., None] / scale[..., None] - values).abs().argmin(-1)
    return (values[nearest] * scale).reshape(weight.shape)


@needs_bitsandbytes
def test_all_linear_layers_except_the_last_are_rounded_to_nf4(base, make_model):
    found = load_model(base, quantize="4bit")
    expected = make_model(**SHAPE).eval()
    for name, layer in expected.named_modules():
        weight = found.get_submodule(name).weight if hasattr(layer, "weight") else None
        if isinstance(layer, torch.nn.Linear) and name != "lm_head":
            assert weight.dtype == torch.uint8
            layer.weight.data = rounded(layer.weight.data)
        elif weight is not None:
            assert torch.equal(weight, layer.weight)
    plain = logits(make_model(**SHAPE).eval())
    error = (logits(found) - logits(expected)).norm() / plain.norm()
    assert error < 0.02, "what is left is the rounding of the blocks' scales to 8 bits"
    assert (logits(expected) - plain).norm() / plain.norm() > 5 * error


def side(name, chance):
    ids = array("i", [chance.randrange(67) for _ in range(12)])
    example = Example(ids=ids, token_weights=array("f", [0.0] * 6 + [1.0] * 6))
    return Side(examples=(example,), trajectory=name, reward=1.0, turns=1, reply_tokens=6)


def run(base, folder, *callbacks, **changes):
    chance = random.Random(0)
    examples = [
        PairExample(chosen=side(f"+{n}", chance), rejected=side(f"-{n}", chance), task_hash=str(n))
        for n in range(6)
    ]
    settings = {"epochs": 4, "batch_size": 3, "learning_rate": 1e-2, "save_every": 2, "beta": 1.0}
    return train(
        load_model(base, quantize="4bit"),
        examples,
        TrainSettings(
            **{**settings, "precision": "float32", "optimizer": "adamw_torch", **changes}
        ),
        folder=folder,
        origin=model_digest(base),
        references=folder.parent / "reference",
        adapters=QLORA,
        callbacks=callbacks,
    )


def losses(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [line["loss"] for line in map(json.loads, lines) if "loss" in line]


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step == self.step


@pytest.mark.slow
@needs_bitsandbytes
def test_training_starts_at_the_rounded_model_and_resumes_exactly(base, tmp_path):
    done = run(base, tmp_path / "whole", likelihood_weight=0.0)
    found = losses(tmp_path / "whole")
    assert found[0] == pytest.approx(math.log(2), abs=1e-5)
    assert found[-1] < 0.7 * found[0]
    assert {value.dtype for value in load_file(done / "adapter_model.safetensors").values()} == {
        torch.float32
    }
    run(base, tmp_path / "cut", StopAt(3), likelihood_weight=0.0)
    (tmp_path / "cut" / "model").rename(tmp_path / "stopped")
    run(base, tmp_path / "cut", likelihood_weight=0.0)
    assert losses(tmp_path / "cut") == found


@pytest.mark.weekly
@needs_bitsandbytes
def test_gradient_checkpointing_does_not_change_the_losses(base, tmp_path):
    run(base, tmp_path / "one", gradient_checkpointing=False, max_steps=3)
    run(base, tmp_path / "other", gradient_checkpointing=True, max_steps=3)
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "other"), abs=1e-6)


@needs_bitsandbytes
def test_adapters_are_merged_into_the_unrounded_weights(base, make_model, tmp_path):
    trained = run(base, tmp_path / "run", max_steps=3)
    adapters = load_file(trained / "adapter_model.safetensors")
    found = merged(trained, base)
    plain = make_model(**SHAPE)
    for name, value in found.named_parameters():
        expected = plain.get_parameter(name)
        stem = f"base_model.model.{name.removesuffix('.weight')}"
        if f"{stem}.lora_A.weight" in adapters:
            lowered, raised = (adapters[f"{stem}.lora_{side}.weight"] for side in "AB")
            expected = expected + 32 / 4 * raised @ lowered
        torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-5)
    assert load_trained(trained, base, quantize="4bit").get_base_model().is_loaded_in_4bit


@needs_bitsandbytes
def test_a_model_quantized_differently_from_the_settings_is_refused(base, make_model):
    with pytest.raises(
        ValueError, match="quantize 4bit: the model was loaded with a different quantization"
    ):
        adapt(make_model(**SHAPE), QLORA)
    with pytest.raises(
        ValueError, match="quantize None: the model was loaded with a different quantization"
    ):
        adapt(load_model(base, quantize="4bit"), LoraSettings())


@pytest.mark.skipif(installed, reason="bitsandbytes is installed")
def test_missing_bitsandbytes_is_reported_with_the_package_to_install(base):
    with pytest.raises(UserError, match=r"pip install 'colbench\[qlora\]'"):
        load_model(base, quantize="4bit")
