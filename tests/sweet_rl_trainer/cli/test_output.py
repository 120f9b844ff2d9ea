"""The flags `--json` and `--quiet` of `sweet-rl`."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.console import output
from sweet_rl_trainer.cli import main
from sweet_rl_trainer.pipeline.recipe_files import shipped
from sweet_rl_trainer.subprocesses import run as run_child

torch.set_num_threads(1)

CHILD = """
from colbench.console import console, errors, inherited_output

def main(arguments):
    with inherited_output():
        console().print("result")
        errors().print("progress")
    return 0
"""


def test_show_prints_its_lists_as_one_json_document(capsys):
    assert main(["show", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["recipes"]) == shipped()
    assert "critic" in document["stages"]


def test_show_prints_a_recipe_as_one_json_document(capsys):
    assert main(["show", "tiny-cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["tiny"]


def test_a_dry_run_prints_its_plan_as_one_json_document(tmp_path, capsys):
    assert main(["run", "tiny-cpu", "--dry-run", "--json", "--out", str(tmp_path)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [each["stage"] for each in plan["stages"]][-2:] == ["actor", "export"]
    assert plan["missing"] == []
    assert {"deviation", "here", "paper"} == plan["deviations"][0].keys()


def test_a_quiet_dry_run_prints_nothing(tmp_path, capsys):
    assert main(["run", "tiny-cpu", "--dry-run", "--quiet", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "")


def test_quiet_commands_print_errors(capsys):
    assert main(["run", "nothing", "--quiet"]) == 2
    assert "recipe 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "out", "err"),
    [
        ({"as_json": False, "quiet": False}, "result\n", "progress\n"),
        ({"as_json": True, "quiet": False}, "", "result\nprogress\n"),
        ({"as_json": False, "quiet": True}, "", ""),
    ],
)
def test_a_child_process_inherits_the_output_mode_of_its_parent(
    mode, out, err, capfd, tmp_path, monkeypatch
):
    (tmp_path / "printing_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(tmp_path)
    with output(**mode):
        assert run_child("printing_child", ()) == 0
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == (out, err)


@pytest.mark.weekly
def test_a_run_prints_its_stages_and_result_as_one_json_document(small_recipe, tmp_path, capfd):
    words = ["run", str(small_recipe), "--until", "critic", "--out", str(tmp_path / "out")]
    assert main([*words, "--json"]) == 0
    printed = capfd.readouterr()
    document = json.loads(printed.out)
    assert [each["stage"] for each in document["stages"]][-1] == "critic"
    assert "critic: done in" in printed.err
    assert main([*words, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
