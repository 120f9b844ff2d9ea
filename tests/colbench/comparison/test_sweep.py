"""`colbench sweep`: its file, its runs, failing and killed runs, and the final comparison."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest

import colbench
from colbench.cli import main
from colbench.cli.sweep.file import read_sweep
from colbench.errors import UserError

FILE = """
[base]
tasks = "bundled:backend"
limit = 3
agent_args = { }

[[run]]
agent = "interviewer"

[[run]]
agent = "guesser"

[[run]]
name = "short"
agent = "interviewer"
max_turns = 2
"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a sweep file and returns its path."""

    def write(text):
        path = tmp_path / "models.toml"
        path.write_text(text)
        return path

    return write


def sweep(path, out, *flags):
    return main(["sweep", str(path), "--out", str(out), *flags])


def test_a_run_combines_the_settings_of_the_base_with_its_own(write):
    runs = read_sweep(write(FILE), {"COLBENCH_SEED": "7"})
    assert [run.name for run in runs] == ["interviewer", "guesser", "short"]
    assert [run.config.limit for run in runs] == [3, 3, 3]
    assert [run.config.max_turns for run in runs] == [10, 10, 2]
    assert {run.config.seed for run in runs} == {7}


def test_a_run_extends_the_arguments_of_the_base_and_is_named_by_its_settings(write):
    text = """
    [base.agent_args]
    a = 1
    [[run]]
    agent-args = { temperature = 0.5 }
    [[run]]
    agent = "openai:me/small@http://localhost:1/v1"
    max_turns = 3
    """
    first, second = read_sweep(write(text), {})
    assert first.config.agent_args == {"a": 1, "temperature": 0.5}
    assert (first.name, second.name) == ("temperature-0.5", "openai-me-small-max_turns-3")


def test_run_settings_override_variables_which_override_the_base(write):
    text = "[base]\nlimit = 3\nseed = 3\n[[run]]\nseed = 1\n[[run]]\nseed = 2\n"
    runs = read_sweep(write(text), {"COLBENCH_SEED": "9", "COLBENCH_LIMIT": "4"})
    assert [(run.config.seed, run.config.limit) for run in runs] == [(1, 4), (2, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent = 'guesser'", "unknown table or key `agent`"),
        ("[bas]\nlimit = 3", "did you mean `base`?"),
        ("[base]\nlimit = 3", r"at least two \[\[run\]\] tables, got 0"),
        ("[run]\nlimit = 3", "begin each run with"),
        ("base = 3\n[[run]]\n[[run]]", r"begin it with \[base\]"),
        ("[[run]]\nagnet = 'x'\n[[run]]", r"\[\[run\]\] 1: unknown key `agnet`.*`agent`"),
        ("[base]\nlimt = 3\n[[run]]\n[[run]]", r"\[base\]: unknown key `limt`"),
        ("[[run]]\n[[run]]\nmax_turns = 0", r"\[\[run\]\] 2, key `max_turns`: expected"),
        ("[[run]]\nname = '../x'\n[[run]]", "key `name`: expected the name of a folder"),
        ("[[run]]\nname = 'x'\nseed = 1\n[[run]]\nname = 'x'", "two runs have the name x"),
        ("[[run]]\nname = 'x'\n[[run]]\nname = 'y'", "the runs x and y have the same settings"),
        ("[[run]]\nname = 'compare.html'\n[[run]]", "compare.html is the page of the comparison"),
        ("[[run]", "is not TOML"),
    ],
)
def test_a_mistake_in_the_sweep_file_is_named(write, text, message):
    with pytest.raises(UserError, match=message):
        read_sweep(write(text), {})


def test_an_unknown_agent_is_reported_before_any_run_starts(write, tmp_path, capsys):
    text = FILE + "[[run]]\nagent = 'nobody'\n"
    assert sweep(write(text), tmp_path / "out") == 2
    assert "models.toml, run nobody: --agent nobody: unknown" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_run_has_a_folder_and_a_repeated_sweep_only_compares_again(write, tmp_path, capsys):
    path, out = write(FILE), tmp_path / "out"
    assert sweep(path, out) == 0
    assert sorted(each.name for each in out.iterdir()) == [
        "compare.html",
        "guesser",
        "interviewer",
        "short",
    ]
    printed = capsys.readouterr().out
    assert "Different settings: max_turns: 10 | 10 | 2" in printed
    assert "A − B" in printed
    assert (out / "short" / "report.html").exists()
    before = {
        each: (each / "rollouts.jsonl").read_bytes() for each in out.iterdir() if each.is_dir()
    }
    assert sweep(path, out) == 0
    assert all((each / "rollouts.jsonl").read_bytes() == was for each, was in before.items())
    assert "3 of 3 dialogues already done" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(write, tmp_path, capsys):
    assert sweep(write(FILE), tmp_path / "out", "--dry-run") == 0
    assert capsys.readouterr().out.count("tasks   bundled:backend: 3 tasks x 1") == 3
    assert not (tmp_path / "out").exists()


def test_a_failing_run_stops_no_other_run_and_sets_the_exit_code(write, tmp_path, capsys):
    dead = """
    [base]
    tasks = "bundled:backend"
    limit = 2
    endpoint_patience = 0
    [[run]]
    agent = "openai:none@http://127.0.0.1:9/v1"
    [[run]]
    agent = "interviewer"
    [[run]]
    agent = "guesser"
    """
    out = tmp_path / "out"
    assert sweep(write(dead), out) == 1
    printed = capsys.readouterr().out
    assert printed.count("  done") == 2
    assert "openai-none" in printed
    assert (out / "compare.html").exists()


def test_the_folder_of_a_run_is_refused_as_the_folder_of_a_sweep(write, played, capsys):
    assert sweep(write(FILE), played["guesser"].path) == 2
    assert ": this is the folder of a run; choose another folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_created_is_reported_before_any_run_starts(write, tmp_path, capsys):
    path = write(FILE)
    for out in (path, path / "out"):
        assert sweep(path, out) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith(f"colbench: --out {out}: ")
        assert printed.out == ""


def test_a_run_of_which_no_dialogue_can_be_judged_is_not_done(write, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    row = {"problem_description": "def f()", "ground_truth": "def f(", "test_cases": {"a": "f()"}}
    rows.write_text(msgspec.json.encode(row).decode())
    base = f"[base]\ntasks = '{rows}'\n[[run]]\nagent = 'blank'\n[[run]]\nagent = 'guesser'\n"
    assert sweep(write(base), tmp_path / "out") == 1
    assert capsys.readouterr().out.count("  1 dialogue not judged, because the reference") == 2


SLOW = """
import asyncio

class Slow:
    async def reply(self, dialogue):
        await asyncio.sleep(0.15)
        return "I WANT TO ANSWER: def f(): pass"
"""


@pytest.mark.slow
def test_a_killed_sweep_continues_where_it_stopped(write, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    agent = f"{tmp_path}/slow.py:Slow"
    text = f"""
    [base]
    tasks = "bundled:backend"
    limit = 12
    concurrency = 1
    in_process = true
    [[run]]
    agent = "guesser"
    [[run]]
    name = "slow"
    agent = "{agent}"
    """
    path, out = write(text), tmp_path / "out"
    command = [sys.executable, "-m", "colbench.cli", "sweep", str(path), "--out", str(out)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
    )
    rollouts = out / "slow" / "rollouts.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if rollouts.exists() and rollouts.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = [
        line for line in rollouts.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")
    ]
    assert 3 <= len(kept) < 12
    assert not (out / "compare.html").exists()

    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert rollouts.read_bytes().splitlines(keepends=True)[: len(kept)] == kept
    assert len(colbench.load_run(out / "slow").rollouts) == 12
    assert msgspec.json.decode((out / "slow" / "report.json").read_bytes())
    assert (out / "compare.html").exists()
