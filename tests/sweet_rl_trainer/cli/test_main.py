"""The command line: its exit codes and its messages for mistakes, all without a traceback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.run_folder import hold
from sweet_rl_trainer.cli import main
from sweet_rl_trainer.cli.moved import STAGES
from sweet_rl_trainer.cli.study import WORLDS
from sweet_rl_trainer.pipeline.method import goals
from sweet_rl_trainer.pipeline.recipe_files import shipped, text

torch.set_num_threads(1)

CRITIC = ("--until", "critic")


@pytest.fixture
def fails(capfd):
    """Return `fails(words…)`: the error message of a command that must exit with code 2."""

    def run(*words):
        assert main([str(word) for word in words]) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert "Traceback" not in said.err
        return said.err.rpartition("sweet-rl: ")[2].rstrip("\n")

    return run


def test_show_lists_and_prints_the_shipped_recipes(capfd):
    assert main(["show"]) == 0
    listed = capfd.readouterr().out.splitlines()
    heading = next(number for number, line in enumerate(listed) if line.startswith("stages"))
    assert [line.split()[0] for line in listed[1:heading]] == shipped()
    assert all(len(line) <= 120 for line in listed)
    for name in shipped():
        assert main(["show", name]) == 0
        assert capfd.readouterr().out == text(name)[0]


def test_show_lists_recipes_and_stages_without_importing_pytorch():
    code = (
        "import sys; from sweet_rl_trainer.cli import main; main(['show']); "
        "print({'torch', 'transformers'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"


@pytest.mark.parametrize("words", [[], ["train"], ["run"], ["run", "tiny-cpu", "--what"]])
def test_a_wrong_call_exits_with_code_2_and_prints_the_usage(words, capfd):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capfd.readouterr().err.startswith("usage: sweet-rl")


def test_a_misspelled_flag_is_refused_with_a_suggestion(capfd):
    with pytest.raises(SystemExit):
        main(["run", "tiny-cpu", "--modle", "x"])
    assert capfd.readouterr().err.endswith(
        "sweet-rl run: error: unrecognized arguments: --modle x; did you mean `--model`?\n"
    )


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["show", "--help"]])
def test_help_prints_the_usage(words, capfd):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    assert "usage: sweet-rl" in capfd.readouterr().out


@pytest.mark.parametrize("stage", STAGES)
def test_a_former_stage_command_names_its_replacement(stage, fails):
    said = fails(stage, "tiny-cpu", "--dry-run")
    assert said == f"sweet-rl {stage}: replaced by `sweet-rl run RECIPE --until {stage}`"


@pytest.mark.parametrize(("former", "present"), [("recipes", "show"), ("reproduce", "study")])
def test_a_renamed_command_names_its_replacement(former, present, fails):
    assert fails(former, "--quick") == f"sweet-rl {former}: replaced by `sweet-rl {present}`"


def test_the_error_for_an_unknown_command_lists_only_current_commands(capfd):
    with pytest.raises(SystemExit):
        main(["foo"])
    assert re.findall(r"'(\w+)'", capfd.readouterr().err) == [
        "foo",
        "run",
        "show",
        "study",
        "creditbench",
    ]


def test_show_describes_every_stage_that_until_accepts(fails, capfd):
    assert main(["show"]) == 0
    said = capfd.readouterr().out
    assert set(STAGES) <= goals().keys()
    assert all(re.search(rf"^  {stage} +\w", said, re.MULTILINE) for stage in goals())
    message = (
        "--until critics: expected one of fic, grpo, mtdpo, rft, critic, diagnose, sample, rank, actor, turn-rft; "
        "did you mean `critic`?"
    )
    assert fails("run", "tiny-cpu", "--until", "critics") == message


def test_mistakes_in_a_recipe_are_reported(fails, tmp_path):
    assert fails("run", "nothing").startswith("recipe 'nothing': neither a file nor")
    assert fails("show", "nothing").startswith("recipe 'nothing': neither a file nor")
    assert fails("run", "tiny-cpu", "--set", "x") == (
        "--set x: expected KEY=VALUE, such as critic.train.epochs=2"
    )
    assert fails("run", "tiny-cpu", "--until", "rank", "--set", "rank.scores=value").startswith(
        "recipe tiny-cpu: rank.scores 'value' is incompatible with critic.train.score"
    )
    (tmp_path / "r.toml").write_text('method = "rft"')
    assert fails("run", tmp_path / "r.toml").startswith(f"{tmp_path}/r.toml: model.name: set the")
    (tmp_path / "bad.toml").write_text("method =")
    assert fails("show", tmp_path / "bad.toml", "--json").startswith(
        f"{tmp_path}/bad.toml: Invalid"
    )
    assert fails("run", "tiny-cpu", "--model", "x", "--set", "model=3") == (
        "model.name: model is 3, not a table"
    )
    assert fails("run", "tiny-cpu", "--iterations", "2").startswith(
        "recipe tiny-cpu: iterations: more than one needs a [[collect]] table"
    )


def test_an_invalid_model_is_reported(fails, small_recipe, tmp_path):
    out = tmp_path / "out"
    assert "neither an existing folder nor a Hub ID" in fails(
        "run", small_recipe, "--out", out, "--model", "/nowhere"
    )
    assert "is not a complete checkpoint" in fails(
        "run", small_recipe, "--out", out, "--model", tmp_path
    )
    assert not out.exists()


def test_a_missing_run_folder_is_reported(fails, small_recipe, tmp_path):
    said = fails("run", small_recipe, *CRITIC, "--out", tmp_path / "out", "--runs", tmp_path / "no")
    assert (
        said == f"{tmp_path}/no is not a run folder of `colbench eval`: rollouts.jsonl is missing"
    )


def test_runs_without_rewards_are_reported(fails, small_recipe, collected, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(collected[0], folder)
    lines = map(json.loads, (collected[0] / "rollouts.jsonl").read_text().splitlines())
    content = "".join(json.dumps({**line, "scores": {}}) + "\n" for line in lines)
    (folder / "rollouts.jsonl").write_text(content)
    said = fails("run", small_recipe, *CRITIC, "--out", tmp_path / "out", "--runs", folder)
    assert said.startswith(f"{folder} has no rollout with a reward (no reward: 8); `colbench sc")


def test_tasks_without_a_pair_are_counted_by_reason(fails, small_recipe, collected, tmp_path):
    out = ("--out", tmp_path / "out", "--runs", collected[1])
    said = fails("run", small_recipe, *CRITIC, *out)
    assert said.startswith("pairs best-vs-worse: no task has a pair (only one dialogue: ")


def test_dialogues_that_are_all_too_long_are_counted(fails, small_recipe, tmp_path):
    said = fails(
        "run", small_recipe, *CRITIC, "--out", tmp_path / "out", "--set", "critic.max_length=10"
    )
    assert "remains for training (longer than 10 tokens: " in said


def test_a_tokenizer_without_a_chat_template_is_reported(
    fails, small_recipe, small_model, tmp_path
):
    shutil.copytree(small_model, tmp_path / "model")
    (tmp_path / "model" / "chat_template.jinja").unlink()
    said = fails(
        "run", small_recipe, *CRITIC, "--out", tmp_path / "out", "--model", tmp_path / "model"
    )
    assert said.startswith(
        f"{tmp_path}/model has no chat template; use the tokenizer of a chat model"
    )


def test_a_folder_in_use_is_refused_and_not_written_to(fails, small_recipe, tmp_path):
    out = tmp_path / "out"
    with hold(out / ".lock", out):
        said = fails("run", small_recipe, "--until", "sample", "--out", out)
    assert said == f"{out} is in use by another colbench process"
    assert [path.name for path in out.iterdir()] == [".lock"]


def test_an_output_path_that_is_a_file_is_refused_and_unchanged(fails, small_recipe, tmp_path):
    (tmp_path / "out").write_text("mine")
    said = fails("run", small_recipe, "--until", "sample", "--out", tmp_path / "out")
    assert said.startswith(f"--out {tmp_path}/out: cannot be written")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize(
    "words", [("run", "tiny-cpu"), ("run", "tiny-cpu", "--dry-run"), ("study",)]
)
def test_a_folder_with_other_files_is_refused_and_unchanged(words, fails, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    said = fails(*words, "--out", tmp_path)
    assert said == (
        f"--out {tmp_path}: the folder is not empty and is not the folder of a training: it contains "
        "'thesis.tex' but no folder of a stage; choose a new or empty folder"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_folder_of_colbench_eval_is_refused_and_unchanged(collected, fails):
    before = sorted(collected[0].iterdir())
    assert "is not the folder of a training" in fails("run", "tiny-cpu", "--out", collected[0])
    assert sorted(collected[0].iterdir()) == before


@pytest.fixture
def prepared(small_recipe, tmp_path, capfd):
    """Return an output folder with a critic's examples, and the folder that the critic's training will use."""
    from sweet_rl_trainer.pipeline.plan import plan
    from sweet_rl_trainer.pipeline.read import read

    out = tmp_path / "out"
    data, critic = plan(read(str(small_recipe)), "critic")
    data.run(out)
    capfd.readouterr()
    return out, critic.folder(out)


@pytest.mark.weekly
def test_a_training_folder_with_other_files_is_not_written_to(fails, small_recipe, prepared):
    out, critic = prepared
    (critic / "run").mkdir(parents=True)
    (critic / "run" / "notes.txt").write_text("mine")
    said = fails("run", small_recipe, *CRITIC, "--out", out)
    assert said == f"{critic}: training failed with exit code 2; see the messages above"
    assert [path.name for path in (critic / "run").iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_a_nonfinite_loss_is_reported_to_the_user(small_recipe, prepared, capfd):
    out, _ = prepared
    words = ["--set", "critic.train.learning_rate=1e30", "--set", "critic.train.clip=1e30"]
    assert main(["run", str(small_recipe), *CRITIC, "--out", str(out), *words]) == 2
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "is not finite; in the batch: " in said
    assert "lower the learning rate" in said
    assert "training failed with exit code 2; see the messages above" in said


@pytest.mark.parametrize("width", [80, 120])
def test_a_dry_run_prints_the_plan_and_writes_nothing(
    width, small_recipe, tmp_path, capfd, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["run", str(small_recipe), "--dry-run"]) == 0
    said = capfd.readouterr().out
    assert sorted(tmp_path.rglob("*")) == before
    assert max(len(line.rstrip()) for line in said.splitlines()) <= width
    for word in ("examples", "tokens", "steps", "memory", "deviation", "paper"):
        assert word in said
    for stage in ("critic-data-", "critic-", "diagnose-", "sample-", "rank-", "actor-", "export-"):
        assert re.search(rf"^ *\d  {stage}[0-9a-f]{{12}} +to do ", said, re.MULTILINE)
    assert re.search(r"critic\.train\.learning_rate +0\.001 +2e-7", said)


def test_a_dry_run_counts_finished_stages_and_bounds_the_others(
    small_recipe, prepared, capfd, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "160")
    out, critic = prepared
    report = json.loads(next(out.glob("critic-data-*/done.json")).read_text())["said"]
    assert main(["run", str(small_recipe), "--out", str(out), "--dry-run"]) == 0
    lines = [line.split() for line in capfd.readouterr().out.splitlines() if line]
    rows = {line[1].rpartition("-")[0]: line for line in lines if line[0].isdigit()}
    taken, tokens = report["taken"], report["tokens"]
    assert rows["critic-data"][2:5] == ["done", f"{taken:,}", f"{tokens:,}"]
    steps = 2 * -(-taken // 2)
    assert rows["critic"][2:7] == ["to", "do", f"{taken:,}", f"{2 * tokens:,}", str(steps)]
    assert rows["actor"][4] == "≤"
    assert not critic.exists()


@pytest.mark.parametrize("flags", [["--dry-run"], []], ids=["planned", "done"])
def test_a_server_without_the_system_prompt_is_refused_before_training(
    flags, small_recipe, official, fails, tmp_path
):
    path = official(20, input="<s>Ask first.")
    changes = [f"data.official=['{path}']", "data.runs=[]", "sample.server=vllm"]
    words = [word for change in changes for word in ("--set", change)]
    said = fails("run", small_recipe, "--out", tmp_path / "out", *words, *flags)
    assert said.startswith(
        "data.official: the files contain the agent's system prompt only inside prompt strings"
    )
    assert not list((tmp_path / "out").glob("critic-*/run"))


@pytest.mark.parametrize("world", WORLDS)
def test_mistakes_in_a_study_are_reported_for_every_world(world, fails, tmp_path):
    said = fails("study", "--world", world, "--seeds", "0", "--out", tmp_path / "out")
    assert said == "--seeds 0: must be at least 1"
    said = fails("study", "--world", world, "--only", "luck", "--out", tmp_path / "out")
    assert said.startswith("--only luck: expected one of zero-shot, rft, ")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").touch()
    said = fails("study", "--world", world, "--out", tmp_path / "out")
    assert said.endswith("out is a file; choose a new folder or the folder of the study")


def test_missing_libraries_are_reported_with_an_install_command():
    hidden = "import sys; sys.modules['torch'] = None; from sweet_rl_trainer.cli import main"
    command = [sys.executable, "-c", f"{hidden}; sys.exit(main(['show']))"]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "sweet-rl: not installed: torch; pip install 'colbench[train]'\n"


def test_the_flags_quick_and_world_are_refused_together(capfd, tmp_path):
    with pytest.raises(SystemExit):
        main(["study", "--world", "finetuned", "--quick", "--out", str(tmp_path / "out")])
    assert "not allowed with argument" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()
