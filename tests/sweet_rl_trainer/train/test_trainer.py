"""Training of tiny models, compared with plain loops and with other training runs."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
from array import array
from itertools import product
from pathlib import Path

import pytest
from marking import mostly
from msgspec.structs import replace

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("accelerate", reason="accelerate is not installed (colbench[train])")
peft = pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from transformers import AutoModelForCausalLM, TrainerCallback

from colbench.errors import UserError
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.settings import LoraSettings, TrainSettings
from sweet_rl_trainer.train.collator import Packer, Plan
from sweet_rl_trainer.train.run import train

torch.set_num_threads(1)

HERE = Path(__file__).parent
PATH = os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)])

SETTINGS = {
    "learning_rate": 3e-3,
    "batch_size": 3,
    "epochs": 2,
    "row_tokens": 64,
    "precision": "float32",
    "gradient_checkpointing": False,
    "save_every": 2,
    "optimizer": "adamw_torch",
}


def side(name, chance, rule="turn-mean"):
    turns = []
    for turn in range(chance.randint(1, 3)):
        turns += [-1] * chance.randint(2, 5) + [turn] * chance.randint(1, 6)
    ids = array("i", [chance.randrange(67) for _ in turns])
    example = Example(ids=ids, token_weights=array("f", weigh(turns, rule)))
    return Side(
        examples=(example,), trajectory=name, reward=1.0, turns=turns[-1] + 1, reply_tokens=3
    )


def pairs(count, seed=0):
    chance = random.Random(seed)
    return [
        PairExample(
            chosen=side(f"good-{seed}-{n}", chance),
            rejected=side(f"bad-{seed}-{n}", chance),
            task_hash=str(n),
        )
        for n in range(count)
    ]


def settings(**changes):
    return TrainSettings(**{**SETTINGS, **changes})


def run(
    model, examples, folder, *, success=False, held_out=(), callbacks=(), adapters=None, **changes
):
    return train(
        model,
        examples,
        settings(**changes),
        folder=folder,
        origin="tiny",
        references=None if success else folder.parent / "reference",
        adapters=adapters,
        held_out=held_out,
        callbacks=callbacks,
    )


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(folder):
    return [line["loss"] for line in log(folder) if "loss" in line]


def weights(folder):
    model = AutoModelForCausalLM.from_pretrained(folder)
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_the_loss_starts_at_ln_2_and_falls(make_model, tmp_path):
    run(make_model(), pairs(7), tmp_path / "run", epochs=8, likelihood_weight=0.0, beta=1.0)
    found = losses(tmp_path / "run")
    assert found[0] == pytest.approx(math.log(2), abs=1e-5)
    assert sum(found[-3:]) / 3 < 0.5 * found[0]
    last = log(tmp_path / "run")[-2]
    assert last["accuracy"] == 1
    assert last["margin"] == pytest.approx(
        last["reward_chosen"] - last["reward_rejected"], abs=1e-5
    )
    assert last["step"] == 24
    assert last["epoch"] == 8


def test_the_last_step_is_logged_even_if_log_every_does_not_divide_the_steps(make_model, tmp_path):
    run(make_model(), pairs(4), tmp_path / "run", epochs=9, max_steps=5, log_every=3, save_every=9)
    logged = [line for line in log(tmp_path / "run") if "loss" in line]
    assert [line["step"] for line in logged] == [3, 5]
    assert all(line["length_chosen"] > 0 for line in logged)


def score(logits, side):
    """Return Σ w log π and the mean −log π of one sequence, computed token by token."""
    (example,) = side.examples
    values = [
        (weight, torch.log_softmax(logits[place - 1], -1)[example.ids[place]])
        for place, weight in enumerate(example.token_weights)
        if weight
    ]
    return sum(w * v for w, v in values), -sum(v for _, v in values) / len(values)


def plain_training(model, examples, order, *, lr, steps, warmup, beta=0.1, weight=0.01):
    """Train sequence by sequence, with torch's AdamW and an explicit schedule, and return the losses."""

    def of(side):
        return score(model(input_ids=torch.tensor([list(side.examples[0].ids)])).logits[0], side)

    with torch.no_grad():
        reference = {
            side.trajectory: of(side)[0] for e in examples for side in (e.chosen, e.rejected)
        }
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0)
    found = []
    for step in range(steps):
        each = []
        for number in order(step):
            pair = examples[number]
            good, nll = of(pair.chosen)
            bad, _ = of(pair.rejected)
            good, bad = (
                good - reference[pair.chosen.trajectory],
                bad - reference[pair.rejected.trajectory],
            )
            each.append(
                -torch.log(torch.sigmoid(beta * (good - bad))) + weight * pair.imitated * nll
            )
        loss = sum(each) / len(each)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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


@pytest.mark.parametrize(
    ("row_tokens", "share"),
    mostly(pytest.mark.weekly, product((1, 64, 1000), (False, True)), (1, False), (64, True)),
)
def test_three_steps_equal_a_plain_loop_for_any_packing(make_model, tmp_path, row_tokens, share):
    examples = pairs(4)
    changes = {"row_tokens": row_tokens, "share_beginnings": share, "learning_rate": 1e-3}
    run(make_model(), examples, tmp_path / "run", epochs=2, max_steps=3, **changes)
    plan = Plan(Packer(examples, None, settings(**changes)), settings(**changes))
    assert sorted(plan.numbers(0) + plan.numbers(1)) == [0, 1, 2, 3]
    model = make_model()
    expected = plain_training(model, examples, plan.numbers, lr=1e-3, steps=3, warmup=1)
    assert losses(tmp_path / "run") == pytest.approx(expected, abs=1e-5)
    trained = weights(tmp_path / "run" / "model")
    for name, value in model.state_dict().items():
        torch.testing.assert_close(trained[name], value, atol=1e-5, rtol=0)


def test_the_likelihood_counts_only_chosen_sides_that_are_imitated(make_model, tmp_path):
    every = pairs(4)
    examples = [replace(each, imitated=n != 2) for n, each in enumerate(every)]
    changes = {"learning_rate": 1e-3, "likelihood_weight": 0.5}
    run(make_model(), examples, tmp_path / "run", epochs=2, max_steps=3, **changes)
    plan = Plan(Packer(examples, None, settings()), settings())
    expected = plain_training(
        make_model(), examples, plan.numbers, lr=1e-3, steps=3, warmup=1, weight=0.5
    )
    assert losses(tmp_path / "run") == pytest.approx(expected, abs=1e-5)
    with pytest.raises(UserError, match="examples changed"):
        run(make_model(), every, tmp_path / "run", epochs=2, max_steps=3, **changes)


def test_the_logged_nll_is_a_mean_over_imitated_pairs(make_model, tmp_path):
    examples = [replace(each, imitated=n != 2) for n, each in enumerate(pairs(4))]
    kept = [each for each in examples if each.imitated]
    options = {"batch_size": 4, "epochs": 1}
    for name, some in (("all", examples), ("kept", kept)):
        run(make_model(), some, tmp_path / name, held_out=some, **options)
    first, second = (log(tmp_path / name) for name in ("all", "kept"))
    assert first[0]["nll"] == pytest.approx(second[0]["nll"], abs=1e-5)
    none = [replace(each, imitated=False) for each in examples]
    run(make_model(), none, tmp_path / "none", held_out=[*none, kept[0]], **options)
    run(make_model(), none, tmp_path / "one", held_out=kept[:1], **options)
    start, held_out, _ = log(tmp_path / "none")
    assert "nll" not in start
    assert held_out["eval_nll"] == pytest.approx(log(tmp_path / "one")[1]["eval_nll"], abs=1e-5)


def test_a_run_of_one_step_changes_the_weights(make_model, tmp_path):
    model = run(make_model(), pairs(3), tmp_path / "run", max_steps=1)
    trained, before = weights(model), make_model().state_dict()
    assert not all(torch.equal(value, before[name]) for name, value in trained.items())


@pytest.mark.slow
def test_gradient_checkpointing_does_not_change_the_losses(make_model, tmp_path):
    run(make_model(), pairs(5), tmp_path / "one")
    run(make_model(), pairs(5), tmp_path / "other", gradient_checkpointing=True)
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "other"), abs=1e-6)


@pytest.mark.weekly
def test_bfloat16_losses_are_close_to_float32_losses(make_model, tmp_path):
    run(make_model(), pairs(5), tmp_path / "one", max_steps=2)
    run(make_model(), pairs(5), tmp_path / "other", max_steps=2, precision="bfloat16")
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "other"), abs=0.02)
    assert losses(tmp_path / "one") != losses(tmp_path / "other")


class StopAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step == self.step


class KillAt(StopAt):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


DROPOUT = {"attention_dropout": 0.2}


def whole_run(make_model, folder, *callbacks):
    """Train for seven steps on pairs, with dropout, evaluations and a best checkpoint."""
    return run(
        make_model(**DROPOUT),
        pairs(10),
        folder,
        held_out=pairs(5, seed=1),
        callbacks=callbacks,
        max_steps=7,
        patience=3,
    )


@pytest.mark.slow
def test_a_killed_run_resumes_to_identical_logs_and_weights(make_model, tmp_path):
    whole_run(make_model, tmp_path / "whole")
    code = (
        "import sys; from pathlib import Path; import pytest, test_trainer as t, conftest;"
        "t.whole_run(conftest.make_model.__wrapped__(), Path(sys.argv[1]), t.KillAt(5))"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "killed"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": PATH},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert len(losses(tmp_path / "killed")) == 4
    whole_run(make_model, tmp_path / "killed")
    assert same_log(tmp_path / "killed", tmp_path / "whole")
    expected = weights(tmp_path / "whole" / "model")
    for name, value in weights(tmp_path / "killed" / "model").items():
        assert torch.equal(value, expected[name]), name


def same_log(one, other):
    clock = ("runtime", "per_second")
    lines = [
        [{k: v for k, v in line.items() if not k.endswith(clock)} for line in log(folder)[:-1]]
        for folder in (one, other)
    ]
    return lines[0] == lines[1]


@pytest.mark.weekly
def test_dropout_is_active_in_the_run_that_is_killed(make_model, tmp_path):
    whole_run(make_model, tmp_path / "with")
    run(make_model(), pairs(10), tmp_path / "without", max_steps=7)
    assert losses(tmp_path / "with")[1] != pytest.approx(losses(tmp_path / "without")[1], abs=1e-6)


def test_an_incomplete_checkpoint_is_not_resumed_from(make_model, tmp_path):
    run(make_model(), pairs(6), tmp_path / "whole", max_steps=4)
    run(make_model(), pairs(6), tmp_path / "run", max_steps=4, callbacks=[StopAt(3)])
    (tmp_path / "run" / "model").rename(tmp_path / "stopped")
    broken = tmp_path / "run" / "checkpoint-3"
    broken.mkdir()
    (broken / "trainer_state.json").write_text('{"epoch"')
    run(make_model(), pairs(6), tmp_path / "run", max_steps=4)
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


def test_a_resumed_run_logs_the_same_means_if_log_every_does_not_divide_save_every(
    make_model, tmp_path
):
    options = {"epochs": 3, "max_steps": 5, "save_every": 2, "log_every": 3}
    run(make_model(), pairs(6), tmp_path / "whole", **options)
    run(make_model(), pairs(6), tmp_path / "run", callbacks=[StopAt(3)], **options)
    (tmp_path / "run" / "model").rename(tmp_path / "stopped")
    run(make_model(), pairs(6), tmp_path / "run", **options)
    assert [line["step"] for line in log(tmp_path / "run") if "loss" in line] == [2, 3, 4, 5]
    assert same_log(tmp_path / "run", tmp_path / "whole")


def test_a_finished_run_is_returned_unchanged(make_model, tmp_path):
    model = run(make_model(), pairs(3), tmp_path / "run")
    before = (model / "model.safetensors").stat().st_mtime_ns
    assert run(make_model(), pairs(3), tmp_path / "run") == model
    assert (model / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.slow
def test_reference_values_are_cached_separately_per_attention_implementation(make_model, tmp_path):
    for changes in ({}, {"attn_implementation": "eager"}):
        run(make_model(**changes), pairs(3), tmp_path / str(len(changes)), max_steps=1)
    kept = [folder.name.partition("-")[2] for folder in (tmp_path / "reference").iterdir()]
    assert sorted(kept) == ["float32", "float32-eager"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"learning_rate": 1e-3}, "learning_rate"), ({"seed": 1}, "seed"), ({}, "examples")],
)
def test_the_folder_of_another_run_is_refused(make_model, tmp_path, changes, named):
    run(make_model(), pairs(3), tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=f"contains another run: {named} changed"):
        run(make_model(), pairs(3 if changes else 4), tmp_path / "run", **changes)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_with_unrelated_files_is_refused(make_model, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("")
    with pytest.raises(UserError, match="contains no run"):
        run(make_model(), pairs(3), tmp_path / "run")


def test_a_run_killed_while_writing_its_record_starts_over(make_model, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.part").write_text('{"settings": {"sco')
    assert run(make_model(), pairs(3), tmp_path / "run", epochs=1).is_dir()


class MakeNonfinite(StopAt):
    """A callback that replaces the embedding or its gradient with NaN after a step, in rows with a given token."""

    def __init__(self, model, step, token, what):
        super().__init__(step)
        self.done = False
        model.get_input_embeddings().register_forward_hook(self.spoil)
        self.token, self.what = token, what

    def on_step_end(self, args, state, control, **_):
        self.done = state.global_step >= self.step

    def spoil(self, module, inputs, output):
        if not self.done or self.token not in inputs[0]:
            return output
        if self.what == "gradient":
            output.register_hook(lambda gradient: gradient * math.nan)
            return output
        return output * math.nan


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_nonfinite_value_stops_the_run_and_names_the_examples(make_model, tmp_path, what):
    model, examples = make_model(), pairs(9)
    for number, pair in enumerate(examples):
        pair.chosen.examples[0].ids[0] = 66 if number == 4 else 0
        for each in (pair.chosen, pair.rejected):
            each.examples[0].ids[1:] = array("i", [n % 66 for n in each.examples[0].ids[1:]])
    plan = Plan(Packer(examples, None, settings()), settings())
    step = next(step for step in range(2, 6) if 4 in plan.numbers(step))
    with pytest.raises(UserError) as error:
        run(
            model,
            examples,
            tmp_path / "run",
            row_tokens=1,
            callbacks=[MakeNonfinite(model, 2, 66, what)],
        )
    batch = plan.numbers(step) if what == "gradient" else [4]
    names = "; ".join(f"good-0-{number} over bad-0-{number}" for number in batch)
    kept = tmp_path / "run" / f"checkpoint-{step // 2 * 2}"
    assert f"step {step + 1}: the {what} is not finite; in the batch: {names}." in str(error.value)
    assert f"The last checkpoint is {kept};" in str(error.value)
    assert all(value.isfinite().all() for value in weights(kept).values())
    assert not (tmp_path / "run" / "model").exists()


def test_training_stops_early_and_saves_the_best_held_out_model(make_model, tmp_path):
    held_out = pairs(5, seed=1)
    steps = {"max_steps": 20, "epochs": 20}
    folder = tmp_path / "run"
    done = run(make_model(), pairs(6), folder, held_out=held_out, patience=2, **steps)
    found = [line for line in log(folder) if "eval_accuracy" in line]
    accuracies = [line["eval_accuracy"] for line in found]
    first = accuracies.index(max(accuracies))
    assert len(accuracies) == first + 3, "two more evaluations without a better one"
    losses = [line["eval_loss"] for line in found]
    best = max(range(len(found)), key=lambda n: (accuracies[n], -losses[n]))
    assert best > first, "of equal accuracies the one with the lower loss"
    assert found[-1]["step"] == 2 * len(found) < 20
    assert accuracies[best] == pytest.approx(plain_accuracy(make_model(), done, held_out))
    assert torch.equal(
        weights(done)["lm_head.weight"],
        weights(folder / f"checkpoint-{found[best]['step']}")["lm_head.weight"],
    )


class Killed(Exception):
    pass


class KillAtSave(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_save(self, args, state, control, **_):
        if state.global_step == self.step:
            raise Killed


@pytest.mark.slow
def test_a_run_killed_after_its_patience_ended_is_not_trained_further(make_model, tmp_path):
    def stop_early(name, *callbacks):
        given = {"held_out": pairs(5, seed=1), "callbacks": callbacks}
        steps = {"max_steps": 20, "epochs": 20, "patience": 1}
        return run(make_model(), pairs(6), tmp_path / name, **given, **steps)

    whole = stop_early("whole")
    last = log(tmp_path / "whole")[-1]["step"]
    assert last < 20
    with pytest.raises(Killed):
        stop_early("killed", KillAtSave(last))
    assert not (tmp_path / "killed" / "model").exists()
    resumed = stop_early("killed")
    assert same_log(tmp_path / "killed", tmp_path / "whole")
    expected = weights(whole)
    assert all(torch.equal(value, expected[name]) for name, value in weights(resumed).items())


def plain_accuracy(before, folder, examples):
    after = AutoModelForCausalLM.from_pretrained(folder)

    def gain(side):
        ids = torch.tensor([list(side.examples[0].ids)])
        with torch.no_grad():
            return score(after(ids).logits[0], side)[0] - score(before(ids).logits[0], side)[0]

    return sum(bool(gain(e.chosen) > gain(e.rejected)) for e in examples) / len(examples)


def test_rejection_fine_tuning_minimizes_the_mean_nll_of_successes(make_model, tmp_path):
    chance = random.Random(3)
    won = [side(f"won-{n}", chance, "trajectory-mean") for n in range(6)]
    done = run(
        make_model(), won, tmp_path / "run", success=True, batch_size=6, epochs=6, held_out=won[:2]
    )
    found = losses(tmp_path / "run")
    model = make_model()
    with torch.no_grad():
        each = [score(model(torch.tensor([list(s.examples[0].ids)])).logits[0], s)[1] for s in won]
    assert found[0] == pytest.approx(sum(each).item() / 6, abs=1e-5)
    assert found[-1] < 0.9 * found[0]
    evaluated = [line["eval_nll"] for line in log(tmp_path / "run") if "eval_nll" in line]
    model = AutoModelForCausalLM.from_pretrained(done)
    with torch.no_grad():
        each = [
            score(model(torch.tensor([list(s.examples[0].ids)])).logits[0], s)[1] for s in won[:2]
        ]
    assert min(evaluated) == pytest.approx(sum(each).item() / 2, abs=1e-5)


@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # peft's
def test_lora_trains_only_adapters_and_resumes_to_identical_losses(make_model, tmp_path):
    options = {
        "adapters": LoraSettings(rank=4, dropout=0.1),
        "max_steps": 4,
        "gradient_checkpointing": True,
    }
    model = make_model()
    before = {name: value.clone() for name, value in model.named_parameters()}
    done = run(model, pairs(6), tmp_path / "whole", **options)
    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    assert trained == {name for name, _ in model.named_parameters() if "lora_" in name}
    for name, value in model.named_parameters():
        if name not in trained:
            assert torch.equal(value, before[name.replace(".base_layer", "")]), name
    assert log(tmp_path / "whole")[0]["preference"] == pytest.approx(math.log(2), abs=1e-5)
    adapters = peft.PeftModel.from_pretrained(make_model(), done)
    assert any(v.abs().sum() for n, v in adapters.named_parameters() if "lora_B" in n)
    run(make_model(), pairs(6), tmp_path / "cut", callbacks=[StopAt(3)], **options)
    (tmp_path / "cut" / "model").rename(tmp_path / "stopped")
    run(make_model(), pairs(6), tmp_path / "cut", **options)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")


def test_pairs_are_refused_in_place_of_successes(make_model, tmp_path):
    with pytest.raises(ValueError, match="pass pairs; otherwise, pass successes"):
        run(make_model(), pairs(3), tmp_path / "run", success=True)
    assert not (tmp_path / "run").exists()


def test_lora_on_missing_layers_is_refused(make_model):
    with pytest.raises(UserError, match="LoRA on nowhere"):
        adapt(make_model(), LoraSettings(targets=("nowhere",)))


def test_full_training_of_bfloat16_weights_is_refused(make_model, tmp_path):
    with pytest.raises(UserError, match="load the model in float32"):
        run(make_model().bfloat16(), pairs(3), tmp_path / "run")


def test_processes_run_equally_many_rows_and_each_example_once():
    examples = pairs(11)
    for world in (1, 2, 3, 4, 16):
        packers = [
            Packer(examples, None, settings(), rank=rank, world=world) for rank in range(world)
        ]
        bins = [packer.bins(range(11), seed=0) for packer in packers]
        assert len({len(each) for each in bins}) == 1
        counted = [n for each in bins for numbers, counts in each if counts for n in numbers]
        assert sorted(counted) == list(range(11))
