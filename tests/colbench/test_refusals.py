"""Mistakes that the command once ignored silently: it now exits with code 2 and suggests the right spelling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colbench.cli import main

ROW = {"problem_description": "Write it.", "ground_truth": "<p>", "hiden_information": "x"}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps(ROW) + "\n")
    Path("thesis").mkdir()
    Path("thesis/chapter.tex").write_text("mine")


@pytest.mark.parametrize(
    ("flags", "variable", "message"),
    [
        ((), "COLBENCH_AGNET", "COLBENCH_AGNET: unknown environment variable; did you mean COLBENCH_AGENT?"),
        (("--limit", "1e3"), "", "--limit: expected a whole number, such as 1000, got 1e3"),
        (
            ("--tasks", "rows.jsonl"),
            "",
            "rows.jsonl, line 1: `hiden_information`: unknown key; did you mean `hidden_information`?",
        ),
        (
            ("--limit", "1", "--out", "thesis"),
            "",
            "--out thesis: the folder is not empty and is not the folder of a run: it contains 'chapter.tex'",
        ),
        (
            ("--dry-run", "--out", "thesis"),
            "",
            "--out thesis: the folder is not empty and is not the folder of a run: it contains 'chapter.tex'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_exit_code_2_and_no_file_is_written(
    flags, variable, message, monkeypatch, capsys
):
    if variable:
        monkeypatch.setenv(variable, "guesser")
    assert main(["eval", *flags]) == 2
    assert f"colbench: {message}" in capsys.readouterr().err
    assert [each.name for each in Path("thesis").iterdir()] == ["chapter.tex"]
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "words", [["eval", "--agent", ""], ["eval", "--out="], ["sweep", "--out", ""], ["report", ""]]
)
def test_an_empty_argument_is_refused(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2
    assert "the value is empty" in printed
    assert ("leave the argument out" in printed) is (words[0] != "report")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "usage", "message"),
    [
        (["eval", "--agnet", "blank"], "colbench eval ", "--agnet blank; did you mean `--agent`?"),
        (["eval", "--limt=3"], "colbench eval ", "--limt=3; did you mean `--limit`?"),
        (["eval", "--agen", "blank"], "colbench eval ", "--agen blank; did you mean `--agent`?"),
        (["report", "a", "b"], "colbench report ", "unrecognized arguments: b\n"),
        (
            ["sweep", "runs.toml", "--max-turns", "5"],
            "colbench sweep ",
            "--max-turns 5; settings of the runs belong in [base] of FILE: max_turns = …\n",
        ),
        (["sweep", "runs.toml", "--ot=x"], "colbench sweep ", "did you mean `--out`?\n"),
        (["evall"], "colbench [-h]", "did you mean `eval`?"),
        (["tasks", "shwo"], "colbench tasks ", "did you mean `show`?"),
        (["leaderboard", "bild"], "colbench leaderboard ", "did you mean `build`?"),
    ],
)
def test_a_misspelled_word_is_refused_with_the_usage_of_its_command(words, usage, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2
    assert printed.startswith(f"usage: {usage}")
    assert message in printed
