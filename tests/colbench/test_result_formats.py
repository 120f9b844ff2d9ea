import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from datasets import load_dataset
from huggingface_hub import DatasetCard
from huggingface_hub._eval_results import parse_eval_result_entries

from colbench.cli import main
from colbench.export import encode_lines
from colbench.result_formats import hf_eval_results
from colbench.result_formats.every_eval_ever import record
from colbench.run import load_run
from colbench.selection import load_tasks

SCHEMA = Path(__file__).parents[1] / "vendor" / "every_eval_ever" / "eval.schema.json"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a small run."""
    out = tmp_path_factory.mktemp("runs") / "run"
    main(["eval", "--agent", "demonstrator", "--limit", "6", "--out", str(out), "--quiet"])
    return out


def export(*words: str) -> int:
    return main(["export", *words])


def test_an_every_eval_ever_record_follows_the_published_schema(run, tmp_path, capsys):
    words = (str(run), "--format", "every-eval-ever", "--out", str(tmp_path))
    assert export(*words, "--model", "org/model", "--organization", "Org") == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == tmp_path / "data" / "colbench" / "org" / "model"
    record = json.loads(path.read_text())
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    scores = {
        each["metric_config"]["metric_id"]: each["score_details"]["score"]
        for each in record["evaluation_results"]
    }
    report = load_run(run).report
    assert scores["colbench.backend.success"] == report.success_rate.mean
    assert scores["colbench.backend.tests_passed"] == report.value.mean


def test_a_second_export_of_a_run_replaces_its_record(run, tmp_path):
    for _ in range(2):
        assert export(str(run), "--format", "every-eval-ever", "--out", str(tmp_path)) == 0
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_each_record_has_its_own_evaluation_id(run):
    first, second = (record(load_run(run))["evaluation_id"] for _ in range(2))
    assert first != second


def test_the_hubs_own_client_reads_the_exported_file(run, tmp_path, capsys):
    words = ("--format", "hf-eval-results", "--dataset", "me/colbench", "--out", str(tmp_path))
    assert export(str(run), *words) == 0
    text = Path(capsys.readouterr().out.strip()).read_text()
    (entry,) = parse_eval_result_entries(yaml.safe_load(text))
    assert (entry.dataset_id, entry.task_id) == ("me/colbench", "backend")
    assert entry.value == pytest.approx(100 * load_run(run).report.success_rate.mean, abs=0.005)
    notes = entry.notes.split("; ")[1:]
    assert notes[:2] == ["human keyless", "6 tasks of bundled:backend (the first 6) x 1"]
    assert notes[2] == f"SHA-256 of the run's tasks {load_run(run).record.tasks.hash[:12]}"
    assert notes[3:5] == ["10 turns", "default scoring, unit-tests/default/2"]
    assert len(notes) == 6  # no setting but the stated ones differs from its default


@pytest.fixture(scope="module")
def unusual(tmp_path_factory):
    """Return the folder of a run with settings that change what its results mean."""
    out = tmp_path_factory.mktemp("unusual") / "run"
    names = ",".join(task.id for task in load_tasks("bundled:backend", limit=2))
    flags = ["--told", "all", "--seed", "3", "--dialogue-timeout", "900", "--task-ids", names]
    main(["eval", "--agent", "demonstrator", *flags, "--out", str(out), "--quiet"])
    return out


def test_exported_files_state_each_setting_that_makes_results_incomparable(unusual):
    (entry,) = hf_eval_results.entries(load_run(unusual), dataset="me/colbench")
    notes = entry["notes"].split("; ")
    assert "2 tasks of bundled:backend (2 chosen by ID) x 1" in notes
    assert {"told all", "seed 3", "dialogue_timeout 900.0"} <= set(notes)
    for result in record(load_run(unusual))["evaluation_results"]:
        assert result["source_data"]["additional_details"]["selection"] == "2 chosen by ID"
        stated = result["generation_config"]["additional_details"]
        assert (stated["told"], stated["seed"], stated["dialogue_timeout"]) == ("all", "3", "900.0")


def test_exported_files_contain_no_folder_and_no_url(tmp_path):
    tasks, agent = tmp_path / "mine.jsonl", tmp_path / "quiet.py"
    tasks.write_bytes(b"".join(encode_lines(load_tasks("bundled:backend", limit=2))))
    agent.write_text(
        "class Agent:\n    async def reply(self, dialogue):\n        return 'I WANT TO ANSWER: no'\n"
    )
    flags = ["--agent", f"{agent}:Agent", "--tasks", str(tasks), "--out", str(tmp_path / "run")]
    assert main(["eval", *flags, "--quiet"]) == 0
    done = load_run(tmp_path / "run")
    (entry,) = hf_eval_results.entries(done, dataset="me/colbench")
    exported = record(done, model="org/model")
    assert "2 tasks of mine.jsonl x 1" in entry["notes"]
    assert exported["model_info"]["additional_details"]["agent"] == "quiet.py:Agent"
    assert exported["evaluation_results"][0]["source_data"]["dataset_name"] == "mine.jsonl"
    assert str(tmp_path) not in json.dumps([entry, exported], default=str)


def test_the_results_of_a_shard_name_the_shard(tmp_path):
    flags = ["--agent", "demonstrator", "--limit", "6", "--shard", "2/3"]
    main(["eval", *flags, "--out", str(tmp_path / "run"), "--quiet"])
    (entry,) = hf_eval_results.entries(load_run(tmp_path / "run"), dataset="me/colbench")
    assert "(the first 6, shard 2 of 3)" in entry["notes"]


def test_an_incomplete_run_is_not_exported_to_the_hub(run, tmp_path, capsys):
    part = tmp_path / "part"
    shutil.copytree(run, part)
    lines = (part / "rollouts.jsonl").read_text().splitlines(keepends=True)
    (part / "rollouts.jsonl").write_text("".join(lines[:2]))
    words = ("--format", "hf-eval-results", "--dataset", "me/colbench")
    assert export(str(part), *words, "--out", str(tmp_path / "out")) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{part}: the run is incomplete: 4 of 6 dialogues unscored; to finish it" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--format", "hf-eval-results"], "--dataset"),
        (["--format", "every-eval-ever", "--dataset", "a/b"], "--dataset"),
        (["--format", "every-eval-ever", "--model", "no-owner"], "OWNER/NAME"),
        (["--format", "hf-eval-results", "--dataset", "a b"], "OWNER/NAME"),
        (["--format", "hf-eval-results", "--dataset", "me"], "me: expected OWNER/NAME"),
    ],
)
def test_wrong_flags_of_an_export_are_refused(words, hint, run, tmp_path, capsys):
    assert export(str(run), *words, "--out", str(tmp_path)) == 2
    assert hint in capsys.readouterr().err


def test_a_dataset_repository_loads_with_the_names_in_its_eval_yaml(tmp_path, capsys):
    out = tmp_path / "card"
    words = ["bundled:backend", "bundled:frontend", "--repository", "me/colbench"]
    assert main(["tasks", "card", *words, "--out", str(out)]) == 0
    card = DatasetCard((out / "README.md").read_text())
    assert card.data.license == "apache-2.0"
    benchmark = yaml.safe_load((out / "eval.yaml").read_text())
    sizes = {
        task["id"]: load_dataset(
            str(out), task["config"], split=task["split"], cache_dir=str(tmp_path / "cache")
        ).num_rows
        for task in benchmark["tasks"]
    }
    assert sizes == {"backend": 1000, "frontend": 500}


def test_a_dataset_repository_that_cannot_be_written_leaves_no_files(tmp_path):
    """Set a file-size limit of 1 KiB, which makes the system refuse a write halfway, as a full disk does."""
    (tmp_path / "rows.jsonl").write_bytes(
        b"".join(encode_lines(load_tasks("bundled:backend", limit=20)))
    )
    words = "tasks card rows.jsonl --repository me/x --license MIT --out card"
    command = f"ulimit -f 1; exec {sys.executable} -m colbench.cli {words}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("colbench: --out card: cannot be written: ")
    assert [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]


def test_two_sources_of_one_domain_are_refused_in_a_dataset_repository(tmp_path, capsys):
    words = ["bundled:backend", "bundled:backend/train", "--repository", "me/x"]
    assert main(["tasks", "card", *words, "--out", str(tmp_path / "card")]) == 2
    assert "two sources have the same domain" in capsys.readouterr().err
