"""`sweet-rl run` on frontend design with a vision critic: from dialogues of the harness to an actor."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("torchvision", reason="torchvision is not installed (colbench[frontend])")
pytest.importorskip("open_clip", reason="open_clip is not installed (colbench[frontend])")

from safetensors.torch import load_file

from colbench.cli import main as colbench
from sweet_rl_trainer.cli import main
from sweet_rl_trainer.data.files import TRAIN, read
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline import view

pytestmark = pytest.mark.weekly
torch.set_num_threads(1)

DEADLINE = 300
RECIPE = """# Of a test
domain = "frontend"

[model.tiny]
layers = 1
width = 32
inner = 64

[data]
runs = {runs}
held_out = 0.4

[train]
learning_rate = 1e-3
batch_size = 2
epochs = 2
precision = "float32"
gradient_checkpointing = false
row_tokens = 8192
save_every = 2

[critic]
max_length = 16384
train = {{ score = "value" }}
pairs = {{ margin = 0.0 }}
vision = {{ model = "{critic}", max_pixels = 12544, read_pages = {read_pages} }}

[sample]
count = 3
max_tokens = 4
data_fraction = 0.4

[rank]
scores = "value"

[export]
dtype = "float32"
"""


@pytest.fixture(scope="module")
def runs(browser, tiny_clip, tmp_path_factory):
    """Return two run folders on the same tasks, one with at most four pages per dialogue and one with one page."""
    folder = tmp_path_factory.mktemp("pages")
    clip = ("--clip-weights", str(tiny_clip), "--allow-other-clip")
    tasks = ("--tasks", "bundled:frontend/train", "--limit", "5", "--browser", str(browser))
    for turns in ("4", "1"):
        options = ("--agent", "designer", "--max-turns", turns, *tasks, *clip)
        assert colbench(["eval", *options, "--out", str(folder / turns)]) == 0
    return [folder / "4", folder / "1"]


@pytest.fixture(scope="module")
def critic(runs, tmp_path_factory, build_vision_model):
    """Return a folder with a tiny vision model."""
    texts = [each.content for run in runs for one in read_run(run) for each in one.messages]
    folder = tmp_path_factory.mktemp("critic") / "model"
    build_vision_model(folder, texts)
    return folder


@pytest.fixture
def recipe(runs, critic, tmp_path, one_thread):
    path = tmp_path / "vision.toml"
    given = {"runs": [str(each) for each in runs], "critic": critic, "read_pages": "false"}
    path.write_text(RECIPE.format(**given))
    return path


def stage(out, name):
    (found,) = (path for path in out.glob(f"{name}-*") if path.name[len(name) + 1 :].isalnum())
    return found


def killed(recipe, out, pattern):
    """Start a run and kill it as soon as a file matches the pattern."""
    command = [sys.executable, "-m", "sweet_rl_trainer.cli", "run", str(recipe), "--out", str(out)]
    deadline = time.monotonic() + DEADLINE
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        while not list(out.glob(pattern)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.stderr.read()


def test_a_run_on_frontend_dialogues_trains_a_vision_critic_and_an_actor(
    recipe, critic, tmp_path, capsys
):
    out = tmp_path / "out"
    assert main(["run", str(recipe), "--out", str(out), "--dry-run"]) == 0
    planned = capsys.readouterr().out
    assert "every picture is counted as the largest" in planned
    assert not out.exists()

    assert main(["run", str(recipe), "--out", str(out)]) == 0
    actor = Path(capsys.readouterr().out.strip())
    assert json.loads((actor / "config.json").read_text())["model_type"] == "llama"

    examples = read(stage(out, "critic-data") / TRAIN)
    pictures = {path.stem for path in (out / "pictures").glob("*.png")}
    for pair in examples:
        for side in (pair.chosen, pair.rejected):
            (example,) = side.examples
            pages = 1 + side.turns  # a designer shows a page in every turn
            assert len(example.pictures) == pages
            assert set(example.pictures) <= pictures
        assert pair.chosen.examples[0].pictures[0] == pair.rejected.examples[0].pictures[0]
        assert pair.chosen.reward > pair.rejected.reward

    trained = stage(out, "critic") / "run" / "model"
    config = json.loads((trained / "config.json").read_text())
    assert (config["model_type"], len(config["id2label"])) == ("qwen2_vl", 1)
    assert model_digest(trained) != model_digest(critic)
    log = (stage(out, "critic") / "run" / "log.jsonl").read_text().splitlines()
    values = [json.loads(line) for line in log]
    assert values[0]["loss"] == pytest.approx(0.6931, abs=1e-4)
    assert "nll" not in values[0]
    assert any("eval_accuracy" in each for each in values)

    scored = (stage(out, "rank") / "scored.jsonl").read_text().splitlines()
    for turn in map(json.loads, scored):
        assert len(turn["scores"]) == 3
        assert None not in turn["scores"]
        assert len(set(turn["scores"])) > 1
    (index,) = (out / "pictures").glob("pages-*.jsonl")
    pages = [json.loads(line)["page"] for line in index.read_text().splitlines()]
    assert len(pages) == len(set(pages))  # no stage renders a page again
    assert len(view.examples(stage(out, "critic-data")).pairs) == min(len(examples), view.COUNT)
    section = (out / "index.html").read_text().partition(f'id="{stage(out, "critic-data").name}"')
    assert 'class="side chosen"' in section[2].partition("</section>")[0]

    diagnoses = list(out.glob("diagnose-*/diagnosis.json"))
    assert len(diagnoses) == 2  # before and after ranking
    for path in diagnoses:
        diagnosis = json.loads(path.read_text())
        assert diagnosis["best_of"]["tasks"]
        assert 0 <= diagnosis["accuracy"]["mean"] <= 1


def test_a_run_killed_during_critic_training_ends_with_the_same_critic(recipe, tmp_path, capsys):
    whole, again = tmp_path / "whole", tmp_path / "again"
    until = ["--until", "critic"]
    assert main(["run", str(recipe), "--out", str(whole), *until]) == 0
    killed(recipe, again, "critic-*/run/checkpoint-*/trainer_state.json")
    assert not (stage(again, "critic") / "done.json").exists()
    assert main(["run", str(recipe), "--out", str(again), *until]) == 0
    folders = [stage(out, "critic") / "run" / "model" for out in (whole, again)]
    assert model_digest(folders[0]) == model_digest(folders[1])
    assert "critic-data: already done" in capsys.readouterr().err


@pytest.mark.parametrize("config", ["fsdp2", "ddp"])
def test_two_processes_train_the_same_critic_as_one(recipe, tmp_path, config):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = (
        *("--set", f"launch.config={config}", "--set", "launch.processes=2"),
        *("--set", f'launch.args=["--main_process_port={port}"]'),
    )
    folders = []
    for name, flags in (("one", ()), ("two", launch)):
        out = tmp_path / name
        assert main(["run", str(recipe), "--out", str(out), "--until", "critic", *flags]) == 0
        folders.append(stage(out, "critic") / "run")
    logs = [
        [json.loads(line) for line in (each / "log.jsonl").read_text().splitlines()]
        for each in folders
    ]
    for one, two in zip(*logs, strict=True):
        assert one.keys() == two.keys()
        assert {name: one[name] for name in one if "loss" in name} == pytest.approx(
            {name: two[name] for name in two if "loss" in name}, abs=1e-5
        )
    one, two = (load_file(each / "model" / "model.safetensors") for each in folders)
    assert one.keys() == two.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, two[name], atol=1e-4, rtol=0, msg=name)
