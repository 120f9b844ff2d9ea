"""`sweet-rl run` as a user calls it: killed, repeated, and repeated with a changed setting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.cli import main
from sweet_rl_trainer.model.digest import model_digest

pytestmark = pytest.mark.slow
torch.set_num_threads(1)

DEADLINE = 120


def run(recipe, out, capsys, *flags):
    """Run a recipe and return the folder of the model and the messages on standard error."""
    assert main(["run", str(recipe), "--out", str(out), *flags]) == 0
    said = capsys.readouterr()
    return Path(said.out.strip()), said.err


def stopped(words, pattern, stop):
    """Start a command, stop it once a file matches the pattern, and return its exit code and messages."""
    command = [sys.executable, "-m", "sweet_rl_trainer.cli", *map(str, words)]
    folder = Path(words[words.index("--out") + 1])
    deadline = time.monotonic() + DEADLINE
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        while not any(path.stat().st_size for path in folder.glob(pattern)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        stop(process.pid)
        said = (
            process.stderr.read()
        )  # read to the end: the child processes, which also write there, have exited
    return process.returncode, said.decode()


def killed(recipe, out, pattern):
    """Kill a run, but not its children."""
    stopped(["run", recipe, "--out", out], pattern, lambda pid: os.kill(pid, signal.SIGKILL))


def times(out):
    """Return when each file was last written, except the lock and the page, which every call writes."""
    return {
        path.relative_to(out): path.stat().st_mtime_ns
        for path in out.rglob("*")
        if path.is_file() and path.name not in {".lock", "index.html"}
    }


def test_a_killed_run_ends_with_the_same_model_and_repeats_only_changed_stages(
    small_recipe, tmp_path, capsys
):
    whole, _ = run(small_recipe, tmp_path / "whole", capsys)

    out = tmp_path / "killed"
    killed(small_recipe, out, "critic-*/run/checkpoint-*/trainer_state.json")
    (critic,) = (path for path in out.glob("critic-*") if "data" not in path.name)
    assert not (critic / "done.json").exists()
    killed(small_recipe, out, "actor-*/run/checkpoint-*/trainer_state.json")
    assert (critic / "done.json").exists()
    assert not list(out.glob("actor-*/done.json"))
    model, said = run(small_recipe, out, capsys)
    assert model_digest(model) == model_digest(whole)
    assert "[2/8] critic: already done" in said
    assert "[7/8] actor: done in" in said

    before = times(out)
    again, said = run(small_recipe, out, capsys)
    assert again == model
    assert said.count("already done") == 8
    assert times(out) == before

    changed, said = run(small_recipe, out, capsys, "--set", "actor.train.learning_rate=1e-2")
    assert said.count("already done") == 6
    assert "[7/8] actor: done in" in said
    assert "[8/8] export: done in" in said
    assert model_digest(changed) != model_digest(model)
    after = times(out)
    touched = {path.parts[0].partition("-")[0] for path in after if after[path] != before.get(path)}
    assert touched <= {"actor", "export", "references"}
    assert run(small_recipe, out, capsys)[0] == model


def test_a_worker_exits_when_its_parent_has_exited(tmp_path):
    """Give the worker no task to read until then: its task file is a pipe that never receives data."""
    (tmp_path / "stage").mkdir()
    os.mkfifo(tmp_path / "stage" / "task.json")
    worker = [sys.executable, "-m", "sweet_rl_trainer.pipeline.worker"]
    command = [
        *worker,
        "sweet_rl_trainer.pipeline.train_examples:train_examples",
        str(tmp_path / "stage"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    process.stdin.close()
    assert process.wait(DEADLINE) == 130


def test_an_interrupted_run_prints_how_to_continue_and_no_traceback(small_recipe, tmp_path):
    words = ["run", small_recipe, "--until", "critic", "--out", tmp_path / "out"]
    words += ["--set", "critic.train.epochs=500"]
    code, said = stopped(
        words,
        "critic-*/run/checkpoint-*/trainer_state.json",
        lambda pid: os.killpg(pid, signal.SIGINT),  # as a terminal does
    )
    assert code == 130
    assert "Traceback" not in said
    assert said.endswith("sweet-rl: interrupted; repeat the command to continue\n")
