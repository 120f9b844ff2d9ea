"""`colbench repair`: lines that are not rollouts are moved from the run's file to a file next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from colbench.cli import main
from colbench.repair import repair
from colbench.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    """Return a small finished run."""
    assert main(["eval", "--agent", "blank", "--limit", "3", "--out", str(tmp_path / "run")]) == 0
    return RunFolder(tmp_path / "run")


def test_an_intact_run_is_left_unchanged(run, capsys):
    before = {path: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    assert main(["repair", str(run.path)]) == 0
    assert "nothing to repair, 3 dialogues" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in run.path.iterdir() if path.is_file()} == before


def test_invalid_lines_are_moved_away_and_the_run_can_be_resumed(run, capsys):
    one, two, three = run.rollouts_path.read_bytes().splitlines(keepends=True)
    other = two.replace(b"colbench.rollout/1", b"colbench.rollout/9")
    bad = [b"{}\n", other, b"\xff\xfe\n", b"\0" * 40 + b"\n", two[:60] + b"\n"]
    torn = three[:50]
    run.rollouts_path.write_bytes(one + b"".join(bad) + b"\0\0" + two + torn)
    assert main(["report", str(run.path)]) == 2
    assert f"`colbench repair {run.path}`" in capsys.readouterr().err
    assert main(["repair", str(run.path)]) == 0
    said = capsys.readouterr().out
    assert "line 2: not a rollout" in said
    assert "line 3: schema colbench.rollout/9" in said
    assert "line 7: NUL bytes" in said
    assert "line 8: incomplete" in said
    assert "kept 2 dialogues; dropped lines are in" in said
    assert run.rollouts_path.read_bytes() == one + two
    dropped = (run.path / "rollouts.dropped.jsonl").read_bytes()
    assert dropped == b"".join(bad) + b"\0\0\n" + torn + b"\n"
    assert main(["eval", "--agent", "blank", "--limit", "3", "--out", str(run.path)]) == 0
    assert len(run.rollouts()) == 3


def test_a_second_repair_appends_to_the_dropped_lines(run):
    for _ in range(2):
        with run.rollouts_path.open("ab") as file:
            file.write(b"{}\n")
        assert repair(run).kept == 3
    assert (run.path / "rollouts.dropped.jsonl").read_bytes() == b"{}\n{}\n"


def test_a_folder_that_is_not_a_run_or_is_in_use_is_refused(run, tmp_path, capsys):
    assert main(["repair", str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    with run.lock():
        assert main(["repair", str(run.path)]) == 2
    assert "in use by another colbench process" in capsys.readouterr().err
    assert Path(run.rollouts_path).exists()
