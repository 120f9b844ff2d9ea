"""The plan of a recipe: made without a network, and with missing inputs reported first."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.cli import main as colbench
from colbench.config import RunConfig
from sweet_rl_trainer.cli import main
from sweet_rl_trainer.pipeline.missing import eval_command
from sweet_rl_trainer.pipeline.recipe_files import shipped
from sweet_rl_trainer.settings import TRACKERS, not_installed

torch.set_num_threads(1)

UNKNOWN = "nobody/such-a-model"
CRITIC = ("--until", "critic")


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    """Disable the network and use an empty cache."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def planned(capfd):
    """Return `planned(words…)`: the exit code and the output of a dry run."""

    def run(*words):
        code = main(["run", *map(str, words), "--dry-run"])
        said = capfd.readouterr()
        assert said.err == ""
        return code, said.out

    return run


def commands(said):
    """Return the `colbench eval` commands in a text, without the program's name."""
    return [
        shlex.split(line)[1:] for line in said.splitlines() if line.startswith("  colbench eval ")
    ]


@pytest.mark.parametrize("recipe", shipped())
def test_every_shipped_recipe_is_planned_without_weights_and_network(recipe, planned, tmp_path):
    code, said = planned(recipe)
    lacks = recipe not in {"tiny-cpu", "smollm2-cpu", "gain-backend-8b"}
    assert code == (2 if lacks else 0)
    assert said.startswith("Missing: " if lacks else "Stages, in ")
    assert re.search(r"^ *\d+  export", said, re.MULTILINE)
    assert not [path for path in tmp_path.iterdir() if path.name != "cache"]
    on_cpu = recipe in {"tiny-cpu", "loop-cpu", "smollm2-cpu"}
    assert ("no GPU: " in said) is not (on_cpu or torch.cuda.is_available())


def test_a_malformed_chat_file_is_an_error_and_no_plan_is_printed(small_recipe, capfd):
    Path("chats.jsonl").write_text('{"messages": [{"role": "user", "text": "A."}], "reward": 1}\n')
    runs, chats = "data.runs=[]", 'data.chats=["chats.jsonl"]'
    assert main(["run", str(small_recipe), "--set", runs, "--set", chats, "--dry-run"]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert (
        "sweet-rl: chats.jsonl:1: messages[0].text: unknown key; use the key `content`" in said.err
    )


@pytest.mark.parametrize("recipe", ["paper-backend-8b", "paper-frontend-8b", "lora-1gpu-8b"])
def test_missing_dialogues_are_reported_with_the_command_that_makes_them(recipe, planned, capfd):
    code, said = planned(recipe)
    assert code == 2
    (command,) = commands(said)
    assert command[:3] == ["eval", "--agent", "vllm:meta-llama/Llama-3.1-8B-Instruct"]
    command.remove("--record-tokens")  # the agent below has none
    assert command[command.index("--trials") + 1] == "3"
    assert re.search(r"critic +to do +\d\d\.\d GiB", said)
    command[2] = "guesser" if "backend" in command else "designer"
    assert colbench([*command, "--dry-run"]) == 0
    capfd.readouterr()
    assert main(["run", recipe]) == 2
    assert commands(capfd.readouterr().err)


def test_a_missing_model_has_estimated_tokens_and_memory_from_its_name(small_recipe, planned):
    model = ("--model", "meta-llama/Llama-3.1-8B-Instruct")
    code, said = planned(small_recipe, *CRITIC, *model)
    assert code == 0
    row = re.search(r"critic-data +to do +(\d+) +about ([\d,]+)", said)
    assert "about: estimated without a tokenizer, as the model is not on this machine" in said
    assert "GiB" in said
    _, exact = planned(small_recipe, *CRITIC)
    known = re.search(r"critic-data-\w+ +to do +(\d+) +([\d,]+)", exact)
    assert row[1] == known[1]
    estimate, count = (int(each[2].replace(",", "")) for each in (row, known))
    assert 0.4 * count < estimate < 1.2 * count  # the vocabulary of the small model is small
    _, said = planned(small_recipe, *CRITIC, "--model", UNKNOWN)
    assert f"memory: {UNKNOWN} is not on this machine, and its dimensions are unknown" in said


def test_one_trial_per_task_is_reported_with_the_command_that_adds_more(
    small_recipe, collected, planned
):
    code, said = planned(small_recipe, *CRITIC, "--runs", collected[1])
    assert code == 2
    assert said.startswith("Missing: pairs best-vs-worse: no task has a pair (only one dialogue: ")
    (command,) = commands(said)
    assert command[command.index("--trials") + 1] == "3"
    assert command[command.index("--out") + 1] == str(collected[1])
    assert "Stages, in" in said
    assert colbench([*command, "--dry-run"]) == 0


def test_runs_without_rewards_are_reported_with_the_command_to_continue(
    small_recipe, collected, planned, tmp_path
):
    folder = tmp_path / "run"
    folder.mkdir()
    for path in collected[0].glob("*.json*"):
        (folder / path.name).write_bytes(path.read_bytes())
    lines = map(json.loads, (collected[0] / "rollouts.jsonl").read_text().splitlines())
    content = "".join(json.dumps({**line, "scores": {}}) + "\n" for line in lines)
    (folder / "rollouts.jsonl").write_text(content)
    code, said = planned(small_recipe, *CRITIC, "--runs", folder)
    assert code == 2
    assert said.startswith(f"Missing: {folder} has no rollout with a reward (no reward: 8)")
    assert commands(said)[0][-2:] == ["--out", str(folder)]


def test_missing_tasks_are_reported(small_recipe, collected, planned, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for path in collected[0].glob("*.json*"):
        (folder / path.name).write_bytes(path.read_bytes())
    record = (folder / "run.json").read_text()
    (folder / "run.json").write_text(record.replace("bundled:backend/train", "gone.jsonl"))
    code, said = planned(small_recipe, *CRITIC, "--runs", folder)
    assert code == 2
    assert said.startswith(f"Missing: {folder}: its tasks cannot be loaded: ")
    assert "--set data.tasks=FILE" in said


def test_unsuccessful_dialogues_leave_nothing_to_imitate(small_recipe, collected, planned):
    code, said = planned(small_recipe, "--until", "rft", "--runs", collected[1])
    assert code == 2
    assert "remains for training (a reward below 1: " in said


def test_unknown_tasks_and_agents_are_reported(small_recipe, planned):
    run = {"agent": "locl:{model}", "tasks": "bundel:backend/test"}
    tables = ", ".join(f'{key} = "{value}"' for key, value in run.items())
    code, said = planned(small_recipe, "--set", f"evaluate=[{{{tables}}}]")
    assert code == 2
    assert "Missing: tasks 'bundel:backend/test': neither a file nor one of bundled:…, " in said
    assert "agent 'locl:{model}': neither a file or module (file.py:NAME) nor one of " in said
    Path("mine.py").touch()
    found = 'evaluate=[{agent = "mine.py:Mine", tasks = "bundled:backend/test"}]'
    assert planned(small_recipe, "--set", found)[0] == 0


def test_a_missing_folder_of_the_critics_model_is_reported(planned, capfd):
    words = ["paper-frontend-8b", "--set", "critic.vision.model=gone/to/nowhere"]
    said = (
        "model 'gone/to/nowhere': neither an existing folder nor a Hub ID (OWNER/NAME, "
        "OWNER/NAME@REVISION); choose another model with --set critic.vision.model=MODEL"
    )
    code, printed = planned(*words)
    assert code == 2
    assert f"Missing: {said}\n" in printed
    assert main(["run", *words]) == 2
    assert said in capfd.readouterr().err


def test_an_eval_command_writes_boolean_arguments_in_lowercase():
    config = RunConfig(agent="vllm:x", agent_args={"single_turn": True}, trials=2)
    assert eval_command(config) == (
        "colbench eval --agent vllm:x --agent-arg single_turn=true --trials 2"
    )


@pytest.mark.parametrize("goal", ["critic", "grpo"])
def test_trackers_that_are_not_installed_are_refused_as_word_or_list(
    goal, small_recipe, planned, capfd
):
    lacking = [name for name in TRACKERS if not_installed([name])]
    if not lacking:
        pytest.skip("all trackers are installed")
    for value in (lacking[0], json.dumps(lacking)):
        words = [small_recipe, "--until", goal, "--set", f"train.report_to={value}"]
        code, said = planned(*words)
        assert code == 2
        assert said.startswith(f"Missing: report_to: not installed: {lacking[0]}")
        assert main(["run", *map(str, words)]) == 2
        assert f"; pip install {lacking[0]}" in capfd.readouterr().err
