"""docs/new-method.md, followed as written: a package with a training method, from an empty folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from code_blocks import Workplace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

pytestmark = pytest.mark.weekly


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Workplace:
    """Return a folder in which the package of the page is installed."""
    return Workplace(tmp_path_factory.mktemp("new_method") / "reader", cache)


@pytest.fixture(scope="module")
def said(place: Workplace) -> str:
    """Return the output of the page's commands."""
    return place.follow("docs/new-method.md")


def test_the_page_works_as_written(said: str, place: Workplace) -> None:
    assert "2 passed" in said
    assert re.search(r"^  sft-last-turn +imitate the last reply", said, re.MULTILINE)
    (model,) = place.folder.glob("training/export-*/model/model.safetensors")
    assert str(model.parent.relative_to(place.folder)) in said
    assert "evaluate: done" in said
    assert "sft-last-turn: already done" in said


def test_the_dry_run_lists_the_stages_of_the_method(said: str, place: Workplace) -> None:
    plan = place.run("sweet-rl", "run", "tiny-cpu", "--until", "sft-last-turn", "--dry-run")
    stages = [line.split()[1].rpartition("-")[0] for line in plan.splitlines() if " to do " in line]
    assert stages == ["base", *["collect"] * 3, "sft-last-turn-data", "sft-last-turn", "export"]


def test_training_by_the_method_changes_the_weights_and_logs_the_loss(
    said: str, place: Workplace
) -> None:
    code = """
import json, pathlib, sys
from safetensors.torch import load_file
folder = pathlib.Path("training")
(base,), (export,) = folder.glob("base-*/model"), folder.glob("export-*/model")
(run,) = folder.glob("sft-last-turn-*/run")
before, after = (load_file(each / "model.safetensors") for each in (base, export))
log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
print(max(float((before[name] - after[name]).abs().max()) for name in before))
print([line["loss"] for line in log if "loss" in line][-1])
print(max(line.get("step", 0) for line in log))
"""
    moved, loss, step = place.run("python", "-c", code).split()
    assert float(moved) > 1e-4
    assert 0 < float(loss) < 10
    assert int(step) == 4


def test_only_tokens_of_the_last_reply_are_trained(said: str, place: Workplace) -> None:
    code = """
import pathlib
from sweet_rl_trainer.data.files import TRAIN, read
from sweet_rl_trainer.model.checkpoint import load_tokenizer
(base,) = pathlib.Path("training").glob("base-*/model")
(data,) = pathlib.Path("training").glob("sft-last-turn-data-*")
tokenizer = load_tokenizer(base)
for side in read(data / TRAIN):
    (example,) = side.examples
    pairs = list(zip(example.ids, example.token_weights))
    trained = tokenizer.decode([token for token, weight in pairs if weight])
    print(side.turns, trained.count("ANSWER"), pairs[-1][1] or pairs[-2][1])
"""
    rows = [line.split() for line in place.run("python", "-c", code).splitlines()]
    assert {turns for turns, *_ in rows} > {"1"}
    assert {(answers, last) for _, answers, last in rows} == {("1", "1.0")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("sft-last-turn.max_lenght=5", "sft-last-turn.max_lenght: unknown key; did you mean"),
        ("sft-last-trun.max_length=5", "sft-last-trun: unknown key; did you mean `sft-last-turn`?"),
        ("method=sft-last-trun", "did you mean `sft-last-turn`?"),
        (
            'sft-last-turn.train={score="value", likelihood_weight=0}',
            "sft-last-turn.train.score: only the critic can be a value model",
        ),
    ],
)
def test_a_mistake_in_the_methods_settings_is_named(
    said: str, place: Workplace, change: str, message: str
) -> None:
    refused = place.run("sweet-rl", "run", "tiny-cpu", "--set", change, "--dry-run", code=2)
    assert message in refused


def test_an_unknown_goal_is_refused_with_the_nearest_name(said: str, place: Workplace) -> None:
    words = ("sweet-rl", "run", "tiny-cpu", "--until", "sft-last-turm", "--dry-run")
    assert "did you mean `sft-last-turn`?" in place.run(*words, code=2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "class M(SftLastTurn): name = 'other'",
            "`sft-last-turn` is already used by the method `other`",
        ),
        (
            "class M(SftLastTurn): name = 'x'",
            "has the `name` 'x', but its entry point is called 'other'; both must be the same; see docs/new-method",
        ),
        ("class M: pass", "is not a subclass of sweet_rl_trainer.pipeline.method.Method"),
        ("class M(SftLastTurn): name, goals = 'other', {}", "has no `goals`"),
        (
            "class M(SftLastTurn): name, tables = 'other', {'data': 0}",
            "`data` of the method `other` is already used by every recipe",
        ),
        ("raise RuntimeError('no')", "cannot be loaded"),
    ],
)
def test_an_invalid_method_is_refused_with_the_reason(
    said: str, place: Workplace, tmp_path: Path, body: str, message: str
) -> None:
    (tmp_path / "wrong.py").write_text(f"from sft_last_turn import SftLastTurn\n{body}\n")
    info = tmp_path / "wrong-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[colbench.methods]\nother = wrong:M\n")
    path = f"{place.site}{os.pathsep}{tmp_path}"
    assert message in place.run("sweet-rl", "show", code=2, PYTHONPATH=path)
