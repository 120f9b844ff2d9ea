"""The value baseline, compared with plain loops over the hidden states of a causal model with the same weights."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("accelerate", reason="accelerate is not installed (colbench[train])")
peft = pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from safetensors.torch import load_file
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    AttentionInterface,
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    TrainerCallback,
)

from colbench.errors import UserError
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.token_weights import RULES, weigh
from sweet_rl_trainer.model.attention import check_isolation
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.load import load_model, load_trained
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.model.value_head import has_value_head, load_value_model
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.train.collator import Packer, Plan
from sweet_rl_trainer.train.loss import pair_losses, row_values, scores
from sweet_rl_trainer.train.run import train

torch.set_num_threads(1)

HERE = Path(__file__).parent
PATH = os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)])
HIDDEN, BETA = 32, 0.1

SETTINGS = {
    "score": "value",
    "likelihood_weight": 0.0,
    "learning_rate": 1e-3,
    "batch_size": 3,
    "epochs": 2,
    "row_tokens": 64,
    "precision": "float32",
    "gradient_checkpointing": False,
    "save_every": 2,
    "optimizer": "adamw_torch",
}


class Dialogue(Side):
    turn_of: tuple[int, ...]
    """The turn of each token, or -1."""


def side(name, chance, rule="turn-mean"):
    """Return a side that starts with the same tokens as all others, so that there is a prefix to share."""
    turns = [-1, -1, 0, 0]
    for turn in range(1, chance.randint(2, 4)):
        turns += [-1] * chance.randint(2, 5) + [turn] * chance.randint(1, 6)
    ids = array("i", [5, 6, 7, *(chance.randrange(67) for _ in turns[3:])])
    example = Example(ids=ids, token_weights=array("f", weigh(turns, rule)))
    given = {"trajectory": name, "reward": 1.0, "turns": turns[-1] + 1, "reply_tokens": 3}
    return Dialogue(examples=(example,), turn_of=tuple(turns), **given)


def pairs(count, seed=0, rule="turn-mean"):
    chance = random.Random(seed)
    return [
        PairExample(
            chosen=side(f"good-{seed}-{n}", chance, rule),
            rejected=side(f"bad-{seed}-{n}", chance, rule),
            task_hash=str(n),
        )
        for n in range(count)
    ]


def groups_of(examples):
    return [[pair.chosen.examples, pair.rejected.examples] for pair in examples]


@pytest.fixture
def make_value_model(make_model, tmp_path):
    """Return `make_value_model(kind, head=True)`: a value model, perhaps with a random head, and its causal model."""

    def make(kind="llama", head=False, **changes):
        causal = make_model(kind, **changes)
        folder = tmp_path / f"base {kind}"
        causal.save_pretrained(folder)
        model = load_value_model(folder).train()
        if head:
            with torch.no_grad():
                model.score.weight.copy_(random_head())
        return model, causal

    return make


def random_head():
    return torch.randn(1, HIDDEN, generator=torch.Generator().manual_seed(1))


def value_of(causal, head, dialogue, rule="turn-mean"):
    """Return S, the head applied to hidden states of the turns, by the formula of the rule."""
    (example,) = dialogue.examples
    ids = torch.tensor([list(example.ids)])
    hidden = causal(input_ids=ids, output_hidden_states=True).hidden_states[-1][0]
    turns = {}
    for place, turn in enumerate(dialogue.turn_of):
        if turn >= 0:
            turns.setdefault(turn, []).append(hidden[place])
    by_turn = [head[0] @ (sum(states) / len(states)) for states in turns.values()]
    whole = [state for states in turns.values() for state in states]
    return {
        "turn-mean": sum(by_turn),
        "turn-mean-averaged": sum(by_turn) / len(by_turn),
        "trajectory-mean": head[0] @ (sum(whole) / len(whole)),
        "sum": head[0] @ sum(whole),
    }[rule]


def loss_of(causal, head, pair, rule="turn-mean", beta=BETA):
    margin = value_of(causal, head, pair.chosen, rule) - value_of(causal, head, pair.rejected, rule)
    return -torch.log(1 / (1 + torch.exp(-beta * margin)))


def losses_of(model, row):
    values = row_values(model, model.config, row)
    return pair_losses(scores(row, values, 0.0), None, beta=BETA, likelihood_weight=0.0)


def assert_close(one, other):
    assert (one - other).abs().max() <= 1e-5 * max(1, other.abs().max())


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_scores_losses_and_gradients_equal_the_formulas(make_value_model, kind, rule, share):
    model, causal = make_value_model(kind, head=True)
    examples = pairs(3, rule=rule)
    row = lay_out(groups_of(examples), share=share)
    assert row.shares is share
    found = losses_of(model, row)
    head = random_head().requires_grad_()
    expected = torch.stack([loss_of(causal, head, pair, rule) for pair in examples])
    assert_close(found.losses, expected)
    for sides, side_found in (("chosen", found.chosen), ("rejected", found.rejected)):
        each = [value_of(causal, head, getattr(pair, sides), rule) for pair in examples]
        assert_close(side_found, BETA * torch.stack(each))
    found.losses.mean().backward()
    expected.mean().backward()
    gradients = {name: value.grad for name, value in model.named_parameters()}
    assert_close(gradients.pop("score.weight"), head.grad)
    for name, value in gradients.items():
        other = causal.get_parameter(name).grad
        assert (value - other).abs().max() <= 1e-5 * other.abs().max(), name


@pytest.mark.parametrize("kind", ["mistral", "qwen2 with windows", "gemma2"])
def test_packed_losses_equal_unpacked_losses(make_value_model, kind):
    model, causal = make_value_model(kind, head=True)
    examples = pairs(3)
    with torch.no_grad():
        whole = losses_of(model, lay_out(groups_of(examples)))
        alone = [losses_of(model, lay_out([group])) for group in groups_of(examples)]
        expected = [loss_of(causal, random_head(), pair) for pair in examples]
    assert_close(whole.losses, torch.cat([each.losses for each in alone]))
    assert_close(whole.losses, torch.stack(expected))


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_an_untrained_model_scores_0_and_only_its_head_has_a_gradient(make_value_model, kind):
    model, _ = make_value_model(kind)
    found = losses_of(model, lay_out(groups_of(pairs(3))))
    assert found.losses.tolist() == [torch.tensor(math.log(2)).item()] * 3
    assert not found.chosen.any()
    assert not found.rejected.any()
    found.losses.sum().backward()
    moved = {name for name, value in model.named_parameters() if value.grad.any()}
    assert moved == {"score.weight"}


def test_attention_across_sequences_is_detected_even_if_every_value_is_0(make_value_model):
    def everything_before(module, query, key, value, mask, scaling, **kwargs):
        key, value = (each.repeat_interleave(2, 1) for each in (key, value))
        seen = scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
        return seen.transpose(1, 2), None

    model, _ = make_value_model()
    check_isolation(model, model.config, share=True)
    AttentionInterface.register("everything_before_values", everything_before)
    model.config._attn_implementation = "everything_before_values"
    with pytest.raises(UserError, match="lets sequences"):
        check_isolation(model, model.config)


def test_human_and_system_tokens_get_no_gradient(make_value_model):
    model, _ = make_value_model(head=True)
    kept = []

    def keep(_, inputs):
        inputs[0].retain_grad()
        kept.append(inputs[0])

    model.score.register_forward_pre_hook(keep)
    examples = pairs(3)
    losses_of(model, lay_out(groups_of(examples))).losses.sum().backward()
    said = [turn >= 0 for e in examples for s in (e.chosen, e.rejected) for turn in s.turn_of]
    assert kept[0].grad[0].ne(0).any(dim=1).tolist() == said


def test_metrics_without_a_likelihood_have_no_nll():
    found = pair_losses(torch.tensor([3.0, 1.0]), None, beta=1.0, likelihood_weight=0.0)
    assert "nll" not in found.metrics()
    assert found.losses.item() == pytest.approx(math.log1p(math.exp(-2)))


def test_values_are_float32_products_under_autocast(make_value_model):
    model, _ = make_value_model(head=True)
    kept = []
    model.score.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    row = lay_out(groups_of(pairs(1)))
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        values = row_values(model.bfloat16(), model.config, row)
    assert kept[0].dtype == torch.bfloat16
    assert values.dtype == torch.float32
    expected = kept[0][0].double() @ model.score.weight[0].double()
    torch.testing.assert_close(values.double(), expected[row.places], rtol=1e-5, atol=1e-5)


def settings(**changes):
    return TrainSettings(**{**SETTINGS, **changes})


def run(model, examples, folder, *, held_out=(), callbacks=(), adapters=None, **changes):
    return train(
        model,
        examples,
        settings(**changes),
        folder=folder,
        origin="tiny",
        adapters=adapters,
        held_out=held_out,
        callbacks=callbacks,
    )


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(folder):
    return [line["loss"] for line in log(folder) if "loss" in line]


def plain_training(causal, head, examples, order, *, lr, steps, warmup):
    """Train pair by pair, with torch's AdamW and an explicit schedule, and return the losses."""
    body = [value for name, value in causal.named_parameters() if not name.startswith("lm_head")]
    optimizer = torch.optim.AdamW([*body, head], betas=(0.9, 0.95), weight_decay=0.0)
    found = []
    for step in range(steps):
        each = [loss_of(causal, head, examples[number], beta=1.0) for number in order(step)]
        loss = sum(each) / len(each)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, head], 1.0)
        rate = step / warmup
        if step >= warmup:
            past = (step - warmup) / (steps - warmup)
            rate = 0.1 + 0.9 * (1 + math.cos(math.pi * past)) / 2
        for group in optimizer.param_groups:
            group["lr"] = lr * rate
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(("row_tokens", "share"), [(1, True), (64, False), (1000, True)])
def test_four_steps_equal_a_plain_loop_for_any_packing(
    make_value_model, tmp_path, row_tokens, share
):
    examples = pairs(4)
    changes = {"row_tokens": row_tokens, "share_beginnings": share, "beta": 1.0}
    model, causal = make_value_model()
    done = run(model, examples, tmp_path / "run", **changes)
    plan = Plan(Packer(examples, None, settings(**changes)), settings(**changes))
    head = torch.zeros(1, HIDDEN, requires_grad=True)
    expected = plain_training(causal, head, examples, plan.numbers, lr=1e-3, steps=4, warmup=1)
    assert expected[0] == expected[1] == pytest.approx(math.log(2))  # the first learning rate is 0
    assert losses(tmp_path / "run") == pytest.approx(expected, abs=1e-5)
    trained = load_file(done / "model.safetensors")
    torch.testing.assert_close(trained.pop("score.weight"), head.detach(), atol=1e-5, rtol=0)
    for name, value in trained.items():
        torch.testing.assert_close(value, causal.get_parameter(name).data, atol=1e-5, rtol=0)


def test_held_out_accuracy_selects_the_saved_model(make_value_model, tmp_path):
    held_out = pairs(5, seed=1)
    model, _ = make_value_model()
    done = run(model, pairs(6), tmp_path / "run", held_out=held_out, epochs=6, patience=2)
    accuracies = [line["eval_accuracy"] for line in log(tmp_path / "run") if "eval_loss" in line]
    head, causal = loaded(done)
    with torch.no_grad():
        margins = [
            value_of(causal, head, e.chosen) - value_of(causal, head, e.rejected) for e in held_out
        ]
    assert sum(margin.item() > 0 for margin in margins) / 5 == pytest.approx(max(accuracies))
    assert not any("nll" in line for line in log(tmp_path / "run"))


def loaded(folder):
    """Return the head and the backbone in a folder, loaded without our own code."""
    head = load_file(folder / "model.safetensors")["score.weight"]
    return head, AutoModelForCausalLM.from_pretrained(folder)


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step == self.step


LORA = {"adapters": LoraSettings(rank=4, dropout=0.1)}


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # peft's
@pytest.mark.parametrize(
    "options",
    [pytest.param({}, id="full"), pytest.param(LORA, id="LoRA", marks=pytest.mark.weekly)],
)
def test_an_interrupted_run_resumes_to_identical_losses_and_weights(
    make_value_model, tmp_path, options
):
    def start(folder, *callbacks):
        model, _ = make_value_model(attention_dropout=0.2)
        held_out = pairs(3, seed=1)
        examples, changes = pairs(8), {"max_steps": 5, "gradient_checkpointing": True}
        return run(
            model, examples, folder, held_out=held_out, callbacks=callbacks, **changes, **options
        )

    whole = start(tmp_path / "whole")
    start(tmp_path / "cut", StopAt(3))
    (tmp_path / "cut" / "model").rename(tmp_path / "stopped")
    cut = start(tmp_path / "cut")
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert len(losses(tmp_path / "whole")) == 5
    (name,) = (path.name for path in whole.glob("*model.safetensors"))
    expected = load_file(whole / name)
    assert any(key.endswith("score.weight") and each.any() for key, each in expected.items())
    for key, value in load_file(cut / name).items():
        assert torch.equal(value, expected[key]), key


def values(model, examples):
    row = lay_out(groups_of(examples))
    with torch.no_grad():
        return row_values(model.eval(), model.config, row)


def test_a_saved_model_also_loads_as_a_token_classifier_with_equal_values(
    make_value_model, tmp_path
):
    model, _ = make_value_model()
    examples = pairs(6)
    done = run(model, examples, tmp_path / "run")
    expected = values(model, examples)
    assert expected.std() > 1e-3
    assert torch.equal(values(load_value_model(done), examples), expected)
    ordinary = AutoModelForTokenClassification.from_pretrained(done)
    ids = list(examples[0].chosen.examples[0].ids)
    with torch.no_grad():
        alone = ordinary(torch.tensor([ids])).logits[0, :, 0]
    said = [turn >= 0 for turn in examples[0].chosen.turn_of]
    torch.testing.assert_close(alone[said], expected[: sum(said)], atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # peft's
def test_only_adapters_and_the_head_are_trained_and_saved(make_value_model, tmp_path):
    model, causal = make_value_model()
    examples = pairs(6)
    done = run(model, examples, tmp_path / "run", **LORA)
    for name, value in causal.named_parameters():
        if not name.startswith("lm_head"):
            kept = [v for n, v in model.named_parameters() if n.replace(".base_layer", "") == name]
            assert torch.equal(kept[0], value), name
    names = set(load_file(done / "adapter_model.safetensors"))
    assert {name for name in names if "lora_" not in name} == {"base_model.model.score.weight"}
    assert not any("score.lora" in name for name in names)
    base, _ = make_value_model()
    assert not base.score.weight.any()
    again = peft.PeftModel.from_pretrained(base, done)
    expected = values(again, examples)
    assert expected.std() > 1e-3
    merged = again.merge_and_unload()
    assert has_value_head(merged)
    torch.testing.assert_close(values(merged, examples), expected, atol=1e-5, rtol=1e-5)
    merged.save_pretrained(tmp_path / "merged")
    assert torch.equal(
        values(load_value_model(tmp_path / "merged"), examples), values(merged, examples)
    )


def test_a_base_model_gets_a_zero_head_and_keeps_its_hidden_states(make_value_model):
    model, causal = make_value_model("qwen2")
    assert has_value_head(model)
    assert not has_value_head(causal)
    assert not model.score.weight.any()
    assert model.score.bias is None
    assert model.dropout.p == 0
    ids = {"input_ids": torch.arange(9)[None], "output_hidden_states": True}
    with torch.no_grad():
        assert torch.equal(model(**ids).hidden_states[-1], causal(**ids).hidden_states[-1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # peft's
def test_load_trained_restores_full_and_adapter_value_models(make_value_model, tmp_path):
    base, examples = tmp_path / "base llama", pairs(6)
    whole = run(make_value_model()[0], examples, tmp_path / "whole")
    model = load_trained(whole, base, device="cpu", score="value")
    assert torch.equal(values(model, examples), values(load_value_model(whole), examples))
    folder, origin = tmp_path / "LoRA", model_digest(base)
    frozen = load_model(base, dtype="bfloat16", device="cpu", score="value")
    done = train(frozen, examples, settings(), folder=folder, origin=origin, **LORA)
    assert frozen.score.weight.dtype == torch.float32
    model = load_trained(done, base, dtype="bfloat16", device="cpu", score="value")
    assert torch.equal(values(model, examples), values(frozen, examples))
    assert values(model, examples).std() > 1e-3


def test_models_without_a_token_classifier_are_refused(make_model, tmp_path):
    make_model("granite").save_pretrained(tmp_path / "granite")
    with pytest.raises(UserError, match="no token classifier of granite"):
        load_value_model(tmp_path / "granite")


def test_checkpoints_that_do_not_fit_a_value_model_are_refused(make_model, tmp_path):
    folder = tmp_path / "three"
    config = make_model().config
    config.num_labels = 3
    AutoModelForTokenClassification.from_config(config).save_pretrained(folder)
    with pytest.raises(
        UserError, match=r"does not fit a value model: .*: score\.bias, score\.weight;"
    ):
        load_value_model(folder)
    part = dict(make_model().state_dict())
    del part["model.norm.weight"]
    make_model().save_pretrained(tmp_path / "part", state_dict=part)
    with pytest.raises(UserError, match=r"does not fit a value model: .*: model\.norm\.weight;"):
        load_value_model(tmp_path / "part")


@pytest.mark.parametrize(
    ("value", "changes", "words"),
    [
        (True, {"score": "log-ratio"}, "has a value head; load a causal"),
        (False, {}, "has no value head; load it with"),
    ],
)
def test_a_model_of_the_wrong_kind_for_the_score_is_refused(
    make_value_model, make_model, tmp_path, value, changes, words
):
    model = make_value_model()[0] if value else make_model()
    examples = pairs(3)
    references = {"references": tmp_path / "kept"} if changes else {}
    with pytest.raises(UserError, match=words):
        train(
            model, examples, settings(**changes), folder=tmp_path / "run", origin="t", **references
        )


def test_value_training_refuses_references_and_successes(make_value_model, tmp_path):
    model, _ = make_value_model()
    given = {"settings": settings(), "folder": tmp_path / "run", "origin": "tiny"}
    with pytest.raises(ValueError, match="value models have no reference"):
        train(model, pairs(3), references=tmp_path, **given)
    with pytest.raises(ValueError, match="pass pairs; otherwise, pass successes"):
        train(model, [pair.chosen for pair in pairs(3)], **given)
    assert not (tmp_path / "run").exists()


def test_a_likelihood_weight_is_refused_for_value_scores():
    with pytest.raises(UserError, match=r'likelihood_weight 0\.01: must be 0 with score = "value"'):
        TrainSettings(score="value")


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # peft's
def test_the_head_of_an_adapted_value_model_is_trained_directly(make_value_model):
    adapted = adapt(make_value_model()[0], LoraSettings(rank=2))
    trained = {name for name, value in adapted.named_parameters() if value.requires_grad}
    (head,) = (name for name in trained if "lora_" not in name)
    assert head.endswith("score.modules_to_save.default.weight")


TWO = """
import sys
from pathlib import Path
import test_value_head as t
t.three_steps(Path(sys.argv[1]), Path(sys.argv[2]))
"""
FSDP2 = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
}


def three_steps(base, folder):
    """Train on rows that two processes cannot split evenly; the last row has one pair."""
    model = load_value_model(base).train()
    return run(model, pairs(7), folder, held_out=pairs(3, seed=1), epochs=1)


@pytest.mark.weekly
@pytest.mark.parametrize("wrapped", [{}, FSDP2], ids=["DDP", "FSDP2"])
def test_two_processes_train_the_same_model_as_one(make_value_model, tmp_path, wrapped):
    make_value_model()
    base, script = tmp_path / "base llama", tmp_path / "both.py"
    script.write_text(TWO)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    both = subprocess.run(
        [*launch, "--master-port", str(port), script, base, tmp_path / "two"],
        capture_output=True,
        text=True,
        env={**os.environ, **wrapped, "OMP_NUM_THREADS": "1", "PYTHONPATH": PATH},
        check=False,
    )
    assert both.returncode == 0, both.stderr
    one = three_steps(base, tmp_path / "one")
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    expected = load_file(one / "model.safetensors")
    found = load_file(tmp_path / "two" / "model" / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, value in found.items():
        torch.testing.assert_close(value, expected[name], atol=1e-5, rtol=0, msg=name)
