"""Domains from other packages, installed as wheels together with a wheel of ColBench.

The SQL example runs through all steps on the command line, and docs/new-domain.md is followed as written.
`COLBENCH_HARNESSES` names the folder with Inspect that `harnesses.sh` makes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from code_blocks import ROOT, blocks

from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench.rollout import read_rollouts
from colbench_sql.agents import Asker

pytestmark = pytest.mark.slow

SQL = ROOT / "tasks" / "examples" / "sql"
PAGE = "docs/new-domain.md"
META = """
name = "{}"
organization = "Example"
authors = ["A. Person"]
contact = "a@example.org"
track = "open"
description = "An agent of the SQL example."
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""
SMALL = """
collect=[{limit=8},{limit=8,agent_args={max_questions=0}}]
sample.count=2 sample.max_tokens=8 sample.data_fraction=0.1 train.max_steps=2
"""
"""Settings with which `tiny-cpu` takes a minute."""
LIBRARY = """
import colbench
run = colbench.evaluate(tasks="sql:test", agent="sql-guesser", limit=3)
print(run.to_pandas()[["success", "databases", "rows"]].mean().to_dict())
"""
Run = Callable[..., str]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an environment `venv` in which both wheels are installed."""
    folder = tmp_path_factory.mktemp("new_domain")
    pip = (sys.executable, "-m", "pip")
    offline = ("--quiet", "--no-deps", "--no-index")
    wheels = ("--no-build-isolation", "--wheel-dir", folder / "wheels")
    subprocess.run([*pip, "wheel", *offline, *wheels, ROOT, SQL], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "outer.pth").write_text(
        "".join(f"{path}\n" for path in sys.path if "-packages" in path)
    )
    venv = ("--python", folder / "venv" / "bin" / "python")
    install = ("install", *offline, "--ignore-installed", *(folder / "wheels").glob("*.whl"))
    subprocess.run([*pip, *venv, *install], check=True)
    wrapper = folder / "venv" / "bin" / "pip"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python {venv[1]} "$@"\n')
    wrapper.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def run(workspace: Path) -> Run:
    """Return a function that runs a command in the environment, checks its success, and returns its output."""
    environment = {
        **os.environ,
        "PATH": f"{workspace / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(workspace),
        "COLBENCH_CACHE": str(workspace / "cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's name for "without isolation"
        "COLUMNS": "200",
    }

    def run(*command: str | Path, at: Path = workspace, **more: str) -> str:
        done = subprocess.run(
            command, cwd=at, env=environment | more, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def runs(workspace: Path, run: Run) -> Path:
    """Return runs of both agents on the test tasks."""
    for agent in ("sql-asker", "sql-guesser"):
        run("colbench", "eval", "--domain", "sql", "--agent", agent, "--out", f"runs/{agent}")
    return workspace / "runs"


def report(folder: Path) -> dict[str, float]:
    found = json.loads((folder / "report.json").read_text())["domains"]["sql"]
    return {name: found["metrics"][name]["mean"] for name in ("success", "databases")}


def test_both_packages_come_from_their_wheels(workspace: Path, run: Run):
    code = "import colbench, colbench_sql; print(colbench.__file__, colbench_sql.__file__)"
    places = run("python", "-c", code).split()
    assert all(Path(each).is_relative_to(workspace / "venv") for each in places)
    assert len(list(SQL.rglob("*.py"))) <= 5, "four modules, and one that says what they are"


def test_sql_tasks_are_listed_shown_and_valid(run: Run):
    listed = json.loads(run("colbench", "tasks", "list", "--tasks", "sql:test", "--json"))
    assert len(listed) >= 30
    shown = run("colbench", "tasks", "show", "people-1", "--tasks", "sql:test")
    assert "period: Only orders of 2024 count." in shown
    assert "60 of 60" in run("colbench", "tasks", "validate", "sql:test")


def test_the_asker_solves_the_sql_tasks_and_the_guesser_does_not(runs: Path):
    assert report(runs / "sql-asker") == {"success": 1.0, "databases": 1.0}
    assert report(runs / "sql-guesser")["databases"] < 0.2
    record = json.loads((runs / "sql-asker" / "run.json").read_text())
    assert record["pins"]["domains"] == {"sql": "colbench-sql 1.0.0"}
    assert record["pins"]["agent"]["source"].startswith("sha256:")


def test_reports_and_dialogues_use_the_terms_of_the_domain(runs: Path, run: Run):
    page = (runs / "sql-asker" / "report.html").read_text()
    for words in ("Reports in SQL", "Databases right", "Rows found", "Success rate"):
        assert words in page
    seen = run("colbench", "view", "runs/sql-asker", "--task", "people-1")
    assert "databases right 100%" in seen
    assert "SELECT" in seen


def test_scoring_again_changes_nothing(runs: Path, run: Run):
    before = (runs / "sql-guesser" / "rollouts.jsonl").read_bytes()
    run("colbench", "score", "runs/sql-guesser")
    assert (runs / "sql-guesser" / "rollouts.jsonl").read_bytes() == before


def test_the_library_evaluates_an_agent_on_the_sql_domain(run: Run):
    scores, warning = run("python", "-c", LIBRARY).splitlines()
    assert scores == "{'success': 0.0, 'databases': 0.0, 'rows': 0.0}"
    assert "is not isolated from the tasks: " in warning
    assert "isolation hides packages and folders with tasks or runs" in warning


@pytest.mark.weekly
def test_sql_entries_appear_on_a_board_in_order(workspace: Path, runs: Path, run: Run):
    run("colbench", "leaderboard", "init", "board")
    for agent in ("sql-asker", "sql-guesser"):
        (workspace / f"{agent}.toml").write_text(META.format(agent))
        run("colbench", "submit", "pack", runs / agent, "--meta", f"{agent}.toml", "--out", agent)
        assert "verification level V2" in run("colbench", "verify", agent)
        run("colbench", "leaderboard", "accept", "board", agent)
    run("colbench", "leaderboard", "build", "board", "--out", "site")
    (table,) = (workspace / "site" / "boards").glob("open-sql-*/index.html")
    page = table.read_text()
    assert "Reports in SQL" in page
    assert "Databases right" in page
    assert page.index("sql-asker") < page.index("sql-guesser")
    (task,) = (workspace / "site" / "boards").glob("open-sql-*/tasks.html")
    assert "people-1" in task.read_text()


def asker(messages: Sequence[Message]) -> str:
    """Reply like the rule-based agent to a system prompt and the dialogue so far."""
    assert "SQL query" in messages[0].content
    reply = Asker().reply(messages[1:])
    try:
        reply.send(None)
    except StopIteration as done:
        return str(done.value)
    raise AssertionError("the asker waits for nothing")


@pytest.fixture
def inspect() -> Path:
    value = os.environ.get("COLBENCH_HARNESSES")
    if not value:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "COLBENCH_HARNESSES is not set"
        )
    return Path(value).absolute() / "inspect" / "bin" / "inspect"


@pytest.mark.weekly
async def test_inspect_runs_the_sql_domain(workspace: Path, run: Run, inspect: Path):
    (site,) = (workspace / "venv").glob("lib/python*/site-packages")
    async with ScriptedServer(asker) as server:
        model = (f"--model=openai-api/local/{server.model}", f"--model-base-url={server.base_url}")
        words = ("--limit=4", "--log-dir=logs", "--log-format=json", "--display=plain")
        command = (inspect, "eval", "colbench/sql", *model, *words)
        await asyncio.to_thread(run, *command, PYTHONPATH=str(site), LOCAL_API_KEY="none")
    (log,) = (workspace / "logs").iterdir()
    scores = json.loads(log.read_text())["results"]["scores"]
    assert {each["name"]: each["metrics"]["mean"]["value"] for each in scores} == {
        "success": 1.0,
        "databases": 1.0,
    }


@pytest.mark.weekly
def test_the_trainer_trains_on_the_sql_domain(workspace: Path, run: Run):
    settings = ["domain=sql", *SMALL.split()]
    changes = [word for setting in settings for word in ("--set", setting)]
    said = run("sweet-rl", "run", "tiny-cpu", *changes, "--out", "training")
    model = next((workspace / "training").glob("export-*/model"))
    assert (model / "model.safetensors").is_file()
    assert str(model.relative_to(workspace)) in said


@pytest.fixture(scope="module")
def page(workspace: Path) -> Path:
    """Return a folder with the files of docs/new-domain.md."""
    files = [block for block in blocks(PAGE) if block.file]
    assert len(files) == 3
    for block in files:
        block.write(workspace / "page")
    return workspace / "page"


@pytest.mark.weekly
def test_the_instructions_in_new_domain_md_work_as_written(page: Path, run: Run):
    scripts = [block.text for block in blocks(PAGE) if block.commands]
    assert len(scripts) == 3
    for script in scripts:
        run("bash", "-ec", script, at=page)
    solved = {
        name: [
            bool(each.scores["default"].success)
            for each in read_rollouts(page / "runs" / name / "rollouts.jsonl")
        ]
        for name in ("asks", "guesses")
    }
    assert len(solved["asks"]) == len(solved["guesses"]) == 31
    assert all(solved["asks"])
    assert sum(solved["guesses"]) <= 3
    assert "Schedules" in (page / "runs" / "asks" / "report.html").read_text()
    assert "Schedules" in (page / "site" / "index.html").read_text()
    assert next(page.glob("training/export-*/model/model.safetensors"))
