"""GRPO through TRL's trainer: real dialogues with the rule-based human, real scores of the sandbox, real steps."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("trl", reason="TRL is not installed (colbench[grpo])")

from msgspec.structs import replace
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl.trainer.utils import RepeatSampler

from colbench.config import RunConfig
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.errors import UserError
from colbench.plugins import resolve_tasks
from colbench.rollout import read_rollouts
from colbench.sandbox import CodeSandbox
from sweet_rl_trainer.model.load import load_model
from sweet_rl_trainer.settings import LoraSettings
from sweet_rl_trainer.train.grpo.sequences import dialogue_row
from sweet_rl_trainer.train.grpo.settings import GrpoSettings
from sweet_rl_trainer.train.grpo.trainer import Order
from sweet_rl_trainer.train.grpo.training import train_grpo

torch.set_num_threads(1)

CONFIG = RunConfig(max_turns=3, sandbox_workers=1, allow_unsafe_sandbox=True)
PLAIN = {
    "group_size": 8,
    "batch_size": 8,
    "rows": 4,
    "steps": 1,
    "max_new_tokens": 2,
    "learning_rate": 0.1,
    "optimizer": "sgd",
    "clip": 1e9,
    "precision": "float32",
    "gradient_checkpointing": False,
    "save_every": 1,
}
BY_TURN = {"credit": "turn", "scale": "none", "group_size": 16}
"""Settings of turn credit. One group is the whole batch, so each of two processes has half of it."""


def twice(task):
    return [task, replace(task, id="late again")]


def settings(**changes):
    return GrpoSettings(**{**PLAIN, **changes})


def run(model, chat, tasks, folder, given=None, **options):
    return train_grpo(
        model,
        chat.tokenizer,
        tasks,
        given or settings(),
        **{"folder": folder, "origin": "guesser", "config": CONFIG, **options},
    )


def rollouts(folder):
    return [
        each for path in sorted((folder / "rollouts").iterdir()) for each in read_rollouts(path)
    ]


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def weights(folder):
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()


def by_dialogue(group):
    """Return GRPO's advantages of a group of dialogues, the same for all turns of each."""
    rewards = torch.tensor([each.scores["default"].value for each in group])
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    return [[each] * 3 for each in advantages]


def by_turn(group):
    """Return the reward that remains before each turn minus its mean over the group, for a task with one fact."""
    left = []
    for each in group:
        heard = [turn.human or "" for turn in each.turns]
        known = [any("More than one day" in reply for reply in heard[:turn]) for turn in range(3)]
        left.append([each.scores["default"].value - 0.5 * told for told in known])
    means = [sum(turn) / len(group) for turn in zip(*left, strict=True)]
    assert len({tuple(each) for each in left}) > 2
    return [[one - mean for one, mean in zip(each, means, strict=True)] for each in left]


def expected_loss(model, found, credit=by_dialogue):
    """Return the GRPO loss of the first iteration, from a plain loop over dialogues and the agent's tokens."""
    total = 0.0
    for task in {each.task_id for each in found}:
        group = [each for each in found if each.task_id == task]
        for rollout, advantages in zip(group, credit(group), strict=True):
            terms = []
            for turn, advantage in zip(rollout.turns, advantages, strict=False):
                ids = torch.tensor([[*turn.sampled.prompt, *turn.sampled.ids]])
                logits = model(ids).logits[0].log_softmax(-1)
                for place in range(len(turn.sampled.prompt), ids.shape[1]):
                    terms.append(advantage * logits[place - 1, ids[0, place]])
            total = total - torch.stack(terms).mean()
    return total / len(found)


@pytest.fixture(scope="module")
def stepped(make_guesser, make_chat, late, tmp_path_factory):
    """Return the folder of a training run of one step."""
    folder = tmp_path_factory.mktemp("stepped") / "run"
    one_step(make_guesser(), make_chat(), late, folder)
    return folder


def test_a_step_equals_a_plain_loop_over_the_agents_tokens(make_guesser, stepped):
    check_step(make_guesser(), stepped)


@pytest.mark.weekly
def test_a_step_with_turn_credit_equals_a_plain_loop_over_the_turns(
    make_guesser, make_chat, late, tmp_path
):
    one_step(make_guesser(), make_chat(), late, tmp_path / "run", **BY_TURN)
    check_step(make_guesser(), tmp_path / "run", by_turn)


def one_step(model, chat, task, folder, **changes):
    return run(model, chat, twice(task), folder, settings(batch_size=16, **changes))


@pytest.mark.weekly
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_turn_credit_equals_dialogue_credit_in_dialogues_of_one_turn(
    scale, make_guesser, make_chat, late, tmp_path
):
    config = RunConfig(max_turns=1, sandbox_workers=1, allow_unsafe_sandbox=True)
    chat = make_chat()
    one, other = (
        weights(
            run(
                make_guesser(),
                chat,
                [late],
                tmp_path / credit,
                settings(credit=credit, scale=scale),
                config=config,
            )
        )
        for credit in ("dialogue", "turn")
    )
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=1e-6, rtol=0)
    assert any(not torch.equal(one[n], p) for n, p in make_guesser().state_dict().items())


@pytest.mark.weekly
@pytest.mark.parametrize(("name", "iterations"), [("qwen3", 1), ("qwen3", 2), ("deepseek", 1)])
def test_a_model_with_stripped_thoughts_trains_each_turn_after_its_own_prompt(
    name, iterations, make_guesser, make_chat, thinking_templates, late, tmp_path
):
    """Train with stripped thoughts; with two iterations, the sampling probabilities are computed separately."""
    chat = make_chat(thinking_templates[name], thoughts=True)
    given = settings(batch_size=16, rows=2, iterations=iterations, steps=iterations)
    given = replace(given, save_every=iterations)
    model = make_guesser()
    callbacks = [FirstStep()]
    run(model, chat, twice(late), tmp_path / "run", given, callbacks=callbacks)
    found = rollouts(tmp_path / "run")
    thoughtful = [each for each in found if any(turn.raw for turn in each.turns[:-1])]
    assert thoughtful
    for rollout in thoughtful:
        assert len(dialogue_row(rollout).parts) == len(rollout.turns) > 1
        prompts = [chat.tokenizer.decode(turn.sampled.prompt) for turn in rollout.turns]
        assert not any("</think>" in prompt for prompt in prompts)
        assert all("</think>" in turn.raw for turn in rollout.turns if turn.raw)
    check_step(make_guesser(), tmp_path / "run", after=callbacks[0].weights)
    mean = sum(len(dialogue_row(each).parts) for each in found) / len(found)
    assert log(tmp_path / "run")[0]["sequences"] == pytest.approx(mean)


class FirstStep(TrainerCallback):
    """A callback that keeps the weights after the first step."""

    def on_step_end(self, args, state, control, model, **_):
        if state.global_step == 1:
            self.weights = {name: each.clone() for name, each in model.state_dict().items()}


@pytest.mark.weekly
def test_dialogues_use_the_template_arguments(make_guesser, make_chat, late, tmp_path):
    usual = make_chat().tokenizer.chat_template
    chat = make_chat("{{- 'Mood: ' + (mood or 'none') + '\n' }}" + usual)
    run(make_guesser(), chat, [late], tmp_path / "run", template_args={"mood": "calm"})
    for rollout in rollouts(tmp_path / "run"):
        assert chat.tokenizer.decode(rollout.turns[0].sampled.prompt).startswith("Mood: calm\n")


def check_step(model, folder, credit=by_dialogue, after=None):
    """Check that the step in a folder equals that of the plain loop, given the model before the step."""
    found = rollouts(folder)
    for task in {each.task_id for each in found}:
        group = [each for each in found if each.task_id == task]
        assert len({each.scores["default"].value for each in group}) > 1
        assert len({len(each.turns) for each in group}) > 1
    expected_loss(model, found, credit).backward()
    after = after or weights(folder / "model")
    moved = 0.0
    for name, parameter in model.named_parameters():
        step = 0.1 * parameter.grad
        torch.testing.assert_close(after[name], parameter.detach() - step, atol=1e-5, rtol=0)
        moved = max(moved, float(step.abs().max()))
    assert moved > 1e-3


TWO = """
import sys
from pathlib import Path
import conftest, grpo.conftest, grpo.test_training as t
make_chat = grpo.conftest.make_chat.__wrapped__()
make_guesser = grpo.conftest.make_guesser.__wrapped__(conftest.make_model.__wrapped__(), make_chat)
changes = t.BY_TURN if sys.argv[2] == "by_turn" else {}
late = grpo.conftest.late.__wrapped__()
t.one_step(make_guesser(), make_chat(), late, Path(sys.argv[1]), **changes)
"""


@pytest.mark.weekly
@pytest.mark.parametrize("credit", [by_dialogue, by_turn])
def test_a_step_of_two_processes_equals_a_plain_loop_over_all_dialogues(
    credit, make_guesser, tmp_path
):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = tmp_path / "both.py"
    script.write_text(TWO)
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    folders = [str(Path(__file__).parents[number]) for number in (1, 2)]
    path = os.pathsep.join([*folders, *filter(None, sys.path)])
    both = subprocess.run(
        [*launch, "--master-port", str(port), script, tmp_path / "run", credit.__name__],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        check=False,
    )
    assert both.returncode == 0, both.stderr
    assert len(list((tmp_path / "run" / "rollouts").iterdir())) == 2
    check_step(make_guesser(), tmp_path / "run", credit)


def test_the_mask_excludes_template_and_human_tokens(make_chat, late, stepped):
    chat = make_chat()
    several = [each for each in rollouts(stepped) if len(each.turns) > 1]
    assert several
    for rollout in several:
        found = dialogue_row(rollout)
        own = [t for t, agents in zip(found.completion, found.mask, strict=True) if agents]
        assert own == [token for turn in rollout.turns for token in turn.sampled.ids]
        others = [t for t, agents in zip(found.completion, found.mask, strict=True) if not agents]
        between = ""
        for turn in rollout.turns[:-1]:
            ended = turn.sampled.ids[-1] == chat.end
            between += "" if ended else "<|im_end|>"
            between += f"\n<|im_start|>user\n{turn.human}<|im_end|>\n<|im_start|>assistant\n"
        assert chat.tokenizer.decode(others) == between
        assert chat.tokenizer.decode(found.prompt).endswith(
            f"<|im_start|>user\n{late.request}<|im_end|>\n<|im_start|>assistant\n"
        )


async def scores_of(task, answers):
    async with CodeSandbox(1, allow_unsafe=True) as box:
        scorer = UnitTestScorer(box)
        return [(await scorer.score(task, answer))["default"].value for answer in answers]


def test_rewards_equal_the_scores_of_the_harness(late, stepped):
    found = rollouts(stepped)
    values = asyncio.run(scores_of(late, [each.answer for each in found]))
    assert len(set(values)) > 1
    assert log(stepped)[0]["reward"] == pytest.approx(sum(values) / len(values))
    assert [each.scores["default"].value for each in found] == values


@pytest.mark.weekly
def test_two_steps_on_bundled_tasks_save_an_ordinary_checkpoint(make_guesser, make_chat, tmp_path):
    tasks = resolve_tasks("bundled:backend")[:2]
    done = run(
        make_guesser(),
        make_chat(),
        tasks,
        tmp_path / "run",
        settings(steps=2, batch_size=8, group_size=4),
    )
    found = rollouts(tmp_path / "run")
    assert len(found) == 16
    groups = [found[start : start + 4] for start in range(0, 16, 4)]
    assert [len({each.task_id for each in group}) for group in groups] == [1] * 4
    assert len({each.task_id for each in found}) > 1
    assert {each.failure for each in found} == {None}
    model = AutoModelForCausalLM.from_pretrained(done)
    tokenizer = AutoTokenizer.from_pretrained(done)
    assert tokenizer.chat_template
    assert model.config.model_type == "llama"


class Killed(Exception):
    pass


class Kill(TrainerCallback):
    def __init__(self, step=1):
        self.step = step

    def on_save(self, args, state, control, **_):
        if state.global_step == self.step:
            raise Killed


@pytest.mark.parametrize("passes", [0, 1, 2])
def test_a_resumed_order_equals_that_of_an_uninterrupted_sampler(passes):
    def new():
        return RepeatSampler(range(7), mini_repeat_count=2, batch_size=3, repeat_count=4, seed=5)

    unbroken = new()
    expected = [list(unbroken) for _ in range(passes + 1)][-1]
    resumed = Order(new, lambda: passes)
    assert list(resumed) == expected
    assert len(resumed) == len(expected) == 48


@pytest.mark.slow
def test_a_run_resumed_in_its_second_pass_over_the_tasks_keeps_the_order(
    make_guesser, make_chat, late, tmp_path
):
    tasks = [replace(late, id=str(number)) for number in range(4)]
    given = settings(group_size=2, batch_size=2, rows=2, steps=7, seed=2)
    with pytest.raises(Killed):
        run(make_guesser(), make_chat(), tasks, tmp_path / "run", given, callbacks=[Kill(5)])
    run(make_guesser(), make_chat(), tasks, tmp_path / "run", given)
    generator = torch.Generator().manual_seed(2)
    first, second = (torch.randperm(4, generator=generator).tolist() for _ in range(2))
    assert first != second
    used = [int(each.task_id) for each in rollouts(tmp_path / "run")[::2]]
    assert used == [*first, *second[:3]]


@pytest.mark.slow
@pytest.mark.parametrize("credit", [pytest.param("dialogue", marks=pytest.mark.weekly), "turn"])
def test_a_killed_run_resumes_to_the_same_dialogues_and_weights(
    credit, make_guesser, make_chat, late, tmp_path
):
    given = settings(steps=2, credit=credit)
    chat = make_chat()
    whole = run(make_guesser(), chat, [late], tmp_path / "whole", given)
    with pytest.raises(Killed):
        run(make_guesser(), chat, [late], tmp_path / "run", given, callbacks=[Kill()])
    again = run(make_guesser(), chat, [late], tmp_path / "run", given)
    assert [each.turns[0].raw for each in rollouts(tmp_path / "run")] == [
        each.turns[0].raw for each in rollouts(tmp_path / "whole")
    ]
    one, other = weights(whole), weights(again)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert run(make_guesser(), chat, [late], tmp_path / "run", given) == again


@pytest.mark.weekly
def test_a_run_with_adapters_trains_and_saves_only_the_adapters(
    make_guesser, make_chat, late, tmp_path
):
    model, before = make_guesser(), make_guesser().state_dict()
    done = run(model, make_chat(), [late], tmp_path / "run", adapters=LoraSettings(rank=2))
    adapters = load_file(done / "adapter_model.safetensors")
    assert all("lora_" in name for name in adapters)
    assert any(each.any() for name, each in adapters.items() if "lora_B" in name)
    assert not (done / "model.safetensors").exists()
    after = {name.replace(".base_layer", ""): each for name, each in model.state_dict().items()}
    assert all(torch.equal(after[name], each) for name, each in before.items())


def bases(make_guesser, folder):
    """Yield a base model as a recipe with adapters loads it by default and, if possible, one in 4 bits."""
    make_guesser(hidden_size=64, intermediate_size=128, head_dim=16).save_pretrained(folder)
    yield load_model(folder, dtype="bfloat16"), None
    if find_spec("bitsandbytes"):
        yield load_model(folder, dtype="bfloat16", quantize="4bit"), "4bit"


@pytest.mark.slow
def test_adapters_of_a_bfloat16_or_4_bit_base_are_trained_in_float32(
    make_guesser, make_chat, late, tmp_path
):
    given = settings(precision="bfloat16", gradient_checkpointing=True)
    for base, quantize in bases(make_guesser, tmp_path / "base"):
        folder = tmp_path / str(quantize)
        lora = LoraSettings(rank=2, quantize=quantize)
        done = run(base, make_chat(), [late], folder, given, adapters=lora)
        adapters = load_file(done / "adapter_model.safetensors")
        assert {each.dtype for each in adapters.values()} == {torch.float32}
        raised = torch.cat([each.flatten() for name, each in adapters.items() if "lora_B" in name])
        assert not torch.equal(raised, raised.bfloat16().float())


@pytest.mark.weekly
def test_the_reference_of_adapters_is_the_base_even_without_a_folder(
    make_guesser, make_chat, late, tmp_path
):
    given = settings(beta=0.04, steps=2, learning_rate=0.05, optimizer="adamw_torch")
    run(make_guesser(), make_chat(), [late], tmp_path / "run", given, adapters=LoraSettings(rank=2))
    lines = log(tmp_path / "run")
    assert lines[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert lines[1]["kl"] > 0


@pytest.mark.weekly
def test_a_run_with_beta_loads_its_reference_from_the_models_folder(
    make_guesser, make_chat, late, tmp_path
):
    given = settings(beta=0.04, steps=2)
    with pytest.raises(UserError, match="load the model from a folder"):
        run(make_guesser(), make_chat(), [late], tmp_path / "run", given)
    make_guesser().save_pretrained(tmp_path / "start")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "start").train()
    run(model, make_chat(), [late], tmp_path / "other", given)
    lines = log(tmp_path / "other")
    assert lines[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert lines[1]["kl"] > 0


@pytest.mark.weekly
def test_a_run_with_changed_settings_is_not_resumed(make_guesser, make_chat, late, tmp_path):
    run(make_guesser(), make_chat(), [late], tmp_path / "run")
    with pytest.raises(UserError, match="steps changed"):
        run(make_guesser(), make_chat(), [late], tmp_path / "run", settings(steps=2))
    other = RunConfig(max_turns=2, allow_unsafe_sandbox=True)
    with pytest.raises(UserError, match="environment changed"):
        run(make_guesser(), make_chat(), [late], tmp_path / "run", config=other)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"batch_size": 6}, "multiple of group_size = 8"),
        ({"rows": 3}, "multiple of rows x 1 processes = 3"),
        ({"batch_size": 16}, "require 2 tasks, but there are only 1"),
        ({"iterations": 2}, "multiple of iterations = 2"),
    ],
)
def test_batch_settings_that_do_not_fit_are_refused(
    changes, said, make_guesser, make_chat, late, tmp_path
):
    with pytest.raises(UserError, match=said):
        run(make_guesser(), make_chat(), [late], tmp_path / "run", settings(**changes))
    assert not (tmp_path / "run").exists()


def test_nan_logits_stop_the_run(make_guesser, make_chat, late, tmp_path):
    model = make_guesser()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="logits are NaN"):
        run(model, make_chat(), [late], tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


def test_a_batch_without_a_scored_dialogue_stops_the_run(make_guesser, make_chat, late, tmp_path):
    broken = replace(late.hidden, reference="def late(days):\n    raise ValueError")
    with pytest.raises(UserError, match="none of 8 dialogues was scored; late: 4 of 4 tests left"):
        run(make_guesser(), make_chat(), [replace(late, hidden=broken)], tmp_path / "run")


@pytest.mark.weekly
def test_two_iterations_use_the_same_dialogues(make_guesser, make_chat, late, tmp_path):
    given = settings(iterations=2, steps=4, save_every=2, rows=8, learning_rate=5.0)
    given = replace(given, precision="bfloat16", gradient_checkpointing=True)
    run(make_guesser(), make_chat(), [late], tmp_path / "run", given)
    names = sorted(path.name for path in (tmp_path / "run" / "rollouts").iterdir())
    assert names == ["000000-000.jsonl", "000002-000.jsonl"]
    lines = log(tmp_path / "run")[:4]
    assert [line["clip_ratio/region_mean"] for line in lines[::2]] == [0, 0]
    assert max(line["clip_ratio/region_mean"] for line in lines[1::2]) > 0
