"""The command `creditbench`: a run with models, its page, an interruption, and user errors."""

from __future__ import annotations

import re
import shutil

import msgspec
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.cli import main
from sweet_rl_trainer.creditbench.data import MADE, frozen_sets
from sweet_rl_trainer.creditbench.page import page
from sweet_rl_trainer.creditbench.results import read
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.settings import Shape

torch.set_num_threads(1)
TASKS = "generated:backend/credit?number=4&families=inventory,checkmarks,slots&difficulty=3"
COMMAND = ("creditbench", "--tasks", TASKS, "--number", "3", "--processes", "1")
RESULTS = "report/credit-bench/results.json"
MODELS_NEEDED = {"no --policy", "no --critic NAME=FOLDER"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folders = []
    for seed in (1, 2):
        folders.append(tmp_path_factory.mktemp(f"model{seed}"))
        build(folders[-1], Shape(width=32, inner=64, vocabulary=300, seed=seed), [TASKS])
    return folders


@pytest.fixture(scope="module")
def finished(models, tmp_path_factory):
    """Return the folder of a run with a policy and a critic."""
    base, critic = models
    out = tmp_path_factory.mktemp("bench")
    words = ["--policy", str(base), "--critic", f"SWEET={critic}", "--read", "2"]
    assert main([*COMMAND, *words, "--system", "/dev/null", "--out", str(out)]) == 0
    return out


def test_every_estimator_is_scored_against_every_truth(finished):
    results = read(finished / RESULTS)
    names = [each.name for each in results.estimators]
    assert len(names) >= 18
    assert {"facts", "returns of 64", "MT-GRPO", "PMI", "gain", "SWEET", "SWEET, sum"} <= set(names)
    for each in results.estimators:
        assert len(each.agreements) == 6
        assert all("pairs" in found.measures for found in each.agreements.values())
        for found in (each.agreements["optimal tests"], each.common):
            assert {"auc", "pairs", "regret"} <= set(found.measures)
    read_ = {each.name: each.agreements["optimal tests"].states for each in results.estimators}
    assert read_["PMI"] == read_["SWEET"] == results.read[1] == 2
    assert read_["facts"] == results.counts.states


def test_the_page_has_a_row_for_each_estimator_and_no_placeholder(finished):
    results = read(finished / RESULTS)
    text = (finished / "report" / "credit-bench.md").read_text("utf-8")
    assert text == page(results)
    assert "{{" not in text
    for each in results.estimators:
        assert f"\n| {each.name} |" in text
    full = next(each for each in frozen_sets() if each.name == "full")
    assert f"states.jsonl  {full.states_sha256}\n    truths.jsonl  {full.truths_sha256}" in text
    assert str(finished) not in text
    for suffix in (".svg", ".png"):
        assert (finished / "report" / "credit-bench" / f"estimators{suffix}").stat().st_size > 1000


def test_estimators_without_scores_are_listed_with_the_reason(finished, tmp_path):
    left_out = read(finished / RESULTS).left_out
    (scaled,) = left_out
    assert scaled.name == "gain, scaled"
    assert scaled.reason == "only 2 answers have a potential; 10 are needed"
    for path in (*finished.glob("*.jsonl"), finished / MADE):
        shutil.copy(path, tmp_path)
    assert main([*COMMAND, "--out", str(tmp_path)]) == 0
    results = read(tmp_path / RESULTS)
    assert {each.reason for each in results.left_out} == MODELS_NEEDED
    assert len(results.left_out) == 10
    assert all(each.common is None for each in results.estimators)
    assert (
        "Estimators left out (no --policy): likelihood; PMI;"
        in (tmp_path / "report" / "credit-bench.md").read_text()
    )


@pytest.mark.slow
def test_an_interrupted_run_continues_to_the_same_results(finished, models, tmp_path):
    out = tmp_path / "again"
    shutil.copytree(finished, out)
    (out / RESULTS).unlink()
    for path in (*(out / "scores").iterdir(), *out.glob("values-*")):
        content = path.read_bytes()
        path.write_bytes(content[: content.find(b"\n") + 5])  # killed within the second task
    base, critic = models
    words = ["--policy", str(base), "--critic", f"SWEET={critic}", "--read", "2"]
    assert main([*COMMAND, *words, "--system", "/dev/null", "--out", str(out)]) == 0
    assert timeless(out) == timeless(finished)


@pytest.mark.slow
def test_other_tasks_with_the_same_names_have_their_own_results(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "used")
    command = ["creditbench", "--tasks", TASKS.replace("difficulty=3", "difficulty=4")]
    for name in ("used", "new"):
        assert main([*command, "--processes", "1", "--out", str(tmp_path / name)]) == 0
    used, new = (tmp_path / name / "states.jsonl" for name in ("used", "new"))
    assert used.read_bytes() == new.read_bytes() != (finished / "states.jsonl").read_bytes()
    before, after = (names_of(folder / "states.jsonl") for folder in (finished, tmp_path / "new"))
    assert before & after
    assert timeless(tmp_path / "used") == timeless(tmp_path / "new")


def names_of(path):
    return {msgspec.json.decode(line)["task_id"] for line in path.read_bytes().splitlines()}


def timeless(folder):
    """Return the results of the estimators without their times, and the validation."""
    raw = msgspec.json.decode((folder / RESULTS).read_bytes())
    return [{**each, "seconds": 0} for each in raw["estimators"]], raw["validation"]


def test_monte_carlo_values_cover_the_exact_ones(finished):
    validation = read(finished / RESULTS).validation
    assert validation.states == 3
    assert validation.half_width <= 0.01
    assert validation.difference <= 0.025
    assert validation.covered.mean >= 0.7


def test_the_command_on_the_page_has_the_number_of_tasks_that_models_read(finished):
    assert read(finished / RESULTS).command.endswith("--system FILE --read 2")


def test_a_model_that_cannot_be_loaded_is_an_error_and_not_an_estimator_that_is_left_out(
    finished, models, tmp_path, capsys
):
    shutil.copytree(finished, tmp_path / "bench")
    shutil.copytree(models[0], tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    words = ["--policy", str(tmp_path / "model"), "--out", str(tmp_path / "bench")]
    assert main([*COMMAND, *words]) == 2
    assert str(tmp_path / "model") in "".join(capsys.readouterr().err.split())


def test_a_folder_of_another_program_is_refused(tmp_path, capsys):
    (tmp_path / "notes.txt").touch()
    assert main([*COMMAND, "--out", str(tmp_path)]) == 2
    assert "contains 'notes.txt' but no data.json" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--critic", "SWEET"], "--critic SWEET: expected NAME=FOLDER"),
        (["--critic", "a=x", "--critic", "a=y"], "--critic a=y: another model has the name a"),
        (["--critic", "policy=x"], "--critic policy=x: another model has the name policy"),
        (["--critic", "SWEET=nowhere"], "--critic: requires --policy, the model"),
        (["--policy", "nowhere"], "--policy nowhere: no such folder"),
        (["--number", "0"], "--number 0: must be at least 1"),
        (["--tasks", "bundled:frontend"], "--tasks bundled:frontend: no task"),
        (["--system", "nowhere"], "--system nowhere: cannot be read"),
    ],
)
def test_a_user_error_names_the_flag(words, message, tmp_path, capsys):
    assert main(["creditbench", *words, "--out", str(tmp_path)]) == 2
    assert re.search(message, capsys.readouterr().err)
