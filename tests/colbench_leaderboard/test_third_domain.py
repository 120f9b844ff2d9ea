"""A domain from another package, from a run to a board, with other bounds and digits, scores by turn, no success."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.version import __version__

DOMAIN = """
from colbench.domain import Defaults, Domain, Metric
from colbench.score import Score
from colbench.task import Fact, Hidden, Task


class Closeness:
    async def score(self, task, answer):
        return {"default": self.verdict(task, answer)}

    async def score_turn(self, task, said):
        return self.verdict(task, said) if said.strip().isdigit() else None

    def verdict(self, task, answer):
        number = int(answer) if answer.strip().isdigit() else 0
        value = max(0.0, 10 - abs(number - int(task.hidden.reference)) / 3)
        return Score(scorer="closeness/1", value=value, success=None, metrics={"closeness": value})


class Numbers(Domain):
    name = "numbers"
    title = "Guess a number"
    metrics = (
        Metric(name="closeness", label="closeness", role="primary", bounds=(0.0, 10.0), digits=2),
    )
    defaults = Defaults(tasks="numbers:all", agent="guesser")
    leaderboard_sets = {"numbers:all": 3}
    own_sources = frozenset({"numbers:all"})

    def scorer(self, resources):
        return Closeness()


def load(source):
    return [
        Task(
            id=f"number-{n}",
            domain="numbers",
            request=f"Guess the number of {n}.",
            hidden=Hidden(
                reference=str(n * n),
                facts=(Fact(name="rule", topics=("rule",), statement=f"It is {n * n}."),),
            ),
        )
        for n in (11, 12, 13)
    ]
"""
AGENT = """
class Agent:
    async def reply(self, dialogue):
        if len(dialogue) == 1:
            return "100"
        return "I WANT TO ANSWER: 142"
"""
META = """
name = "Guesser"
organization = "ColBench"
authors = ["A. Person"]
contact = "a@example.org"
track = "open"
description = "Says 142."
models = []

[disclosures]
trained_on_colbench = false
human_in_the_loop = false
tools = "none"
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Path:
    """Return a folder with the package, an agent, and the metadata of an entry."""
    folder = tmp_path_factory.mktemp("third")
    information = folder / "numbers-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: numbers\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[colbench.domains]\nnumbers = numbers_domain:Numbers\n"
        "[colbench.tasks]\nnumbers = numbers_domain:load\n"
    )
    (folder / "numbers_domain.py").write_text(DOMAIN)
    (folder / "agent.py").write_text(AGENT)
    (folder / "submission.toml").write_text(META)
    return folder


def python(workspace: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(workspace)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def colbench(workspace: Path, *words: str) -> str:
    return python(workspace, "-m", "colbench.cli", *words)


@pytest.fixture(scope="module")
def bundle(workspace) -> Path:
    """Return the bundle of a run on the domain's own tasks."""
    colbench(workspace, "eval", "--agent", "agent.py:Agent", "--domain", "numbers", "--out", "run")
    colbench(workspace, "submit", "pack", "run", "--meta", "submission.toml", "--out", "bundle")
    return workspace / "bundle"


@pytest.mark.weekly
def test_a_bundle_of_another_packages_domain_is_verified_with_its_own_tasks(workspace, bundle):
    shown = colbench(workspace, "verify", "bundle", "--out", "verified")
    assert "closeness    4.44  (1.00 to 9.33)" in shown.replace("\n", " ")
    summary = json.loads((workspace / "verified" / "summary.json").read_bytes())
    assert summary["domain"] == "numbers"
    assert summary["value"]["mean"] == 4.44
    assert (summary["success"], summary["pass_k"]) == (None, [])
    assert summary["success_by_turn"][:2] == [1.0, 4.44]
    lines = (workspace / "verified" / "scores.jsonl").read_text().splitlines()
    cells = [json.loads(line) for line in lines]
    assert [cell["value"] for cell in cells] == [3.0, 9.33, 1.0]
    assert cells[0]["by_turn"] == [3.0, 3.0]
    assert not any("official" in cell for cell in cells)
    assert all(cell["success"] is None for cell in cells)


@pytest.mark.slow
def test_reports_and_receipts_name_the_package_of_the_domain(workspace, bundle):
    assert '<th scope="row">Domain, numbers</th><td>numbers 1.0' in (
        workspace / "run" / "report.html"
    ).read_text("utf-8")
    shown = colbench(workspace, "verify", "bundle", "--out", "verified")
    assert "\ndomain   numbers 1.0\n" in shown
    receipt = json.loads((workspace / "verified" / "receipt.json").read_bytes())
    assert (receipt["domain_package"], receipt["findings"]) == ("numbers 1.0", [])


def test_another_version_of_the_domains_package_is_flagged(workspace, bundle):
    metadata = workspace / "numbers-1.0.dist-info" / "METADATA"
    stated = metadata.read_text()
    metadata.write_text(stated.replace("1.0", "2.0"))
    try:
        colbench(workspace, "verify", "bundle", "--out", "newer")
    finally:
        metadata.write_text(stated)
    receipt = json.loads((workspace / "newer" / "receipt.json").read_bytes())
    (finding,) = receipt["findings"]
    assert (finding["rule"], finding["severity"]) == ("lock.version", "flag")
    assert finding["message"] == ("domain numbers of numbers 1.0, verified with numbers 2.0")
    assert receipt["domain_package"] == "numbers 2.0"
    assert receipt["level"] == "V2"


def test_a_bundle_is_not_verified_without_the_domains_package(workspace, bundle, tmp_path):
    command = [sys.executable, "-m", "colbench.cli", "verify", str(bundle), "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_entry_of_another_packages_domain_appears_on_its_board(workspace, bundle):
    colbench(workspace, "leaderboard", "init", "store")
    colbench(workspace, "leaderboard", "accept", "store", "bundle")
    audited = json.loads(colbench(workspace, "leaderboard", "audit", "store", "--verify", "--json"))
    assert (audited["standing"], audited["verified"], audited["faults"]) == (1, 1, [])
    boards = (
        "from pathlib import Path\n"
        "from colbench_leaderboard.board.standings import read_standings\n"
        "(board,) = read_standings(Path('store')).boards\n"
        "print(board.domain, board.rows[0].name, board.rows[0].success, board.ceiling.success)"
    )
    assert python(workspace, "-c", boards) == "numbers Guesser None None\n"
    colbench(workspace, "leaderboard", "build", "store", "--out", "site")
    (page,) = (workspace / "site" / "entries").glob("*/index.html")
    text = page.read_text("utf-8")
    assert f"and ColBench {__version__} with numbers 1.0." in text
    assert text.count('<tr><th scope="row">Domain</th><td><bdi>numbers 1.0</bdi></td></tr>') == 2


def test_a_domain_names_its_task_sets_for_the_standard_track(workspace):
    tracks = (
        "from colbench_leaderboard.bundle.tracks import is_standard, own_sources\n"
        "print(is_standard('numbers:all'), 'numbers:all' in own_sources(), is_standard('numbers'))"
    )
    assert python(workspace, "-c", tracks) == "True True False\n"
