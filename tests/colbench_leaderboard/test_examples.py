"""The example board, which one command rebuilds, and its rows in docs/results.md."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.bundle.read import read_bundle

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "leaderboard" / "examples"
BUNDLES = sorted((EXAMPLES / "bundles").glob("*.tar.gz"))


def run(*words: str | Path) -> str:
    """Return the standard output of a command that uses this environment's `colbench`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> dict[Path, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("board")
    run(EXAMPLES / "board.sh", out)
    return out


@pytest.mark.weekly
def test_an_interrupted_example_board_is_completed_to_the_same_bytes(board, tmp_path):
    shutil.copytree(board / "store", tmp_path / "store")
    log = tmp_path / "store" / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])

    run(EXAMPLES / "board.sh", tmp_path)

    assert files(tmp_path) == files(board)


@pytest.mark.weekly
def test_the_example_boards_rank_the_rule_based_agents_in_the_expected_order(board):
    boards = read_standings(board / "store", head=None).boards
    known = {"interviewer", "demonstrator", "guesser"}
    ranked = [[row.name for row in each.rows if row.name in known] for each in boards]
    by_limit = sorted(filter(None, ranked))  # one board for one turn, one for ten turns
    assert by_limit == [["guesser"], ["interviewer", "demonstrator"]]
    assert [row.name for each in boards for row in each.lines] == ["blank"]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_every_example_bundle_has_a_row_on_the_results_page(bundle):
    with read_bundle(bundle) as read:
        row = f"| {read.submission.name.rsplit(', ', 1)[0]} | {read.lock.tasks.count} bundled |"
        digest = read.digest
    lines = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(row) and f"`{digest[:12]}`" in line]


@pytest.mark.weekly
def test_measuring_a_row_again_gives_the_same_receipt_and_row(tmp_path):
    words = (sys.executable, EXAMPLES / "measure.py", tmp_path / "out")
    chosen = ("--only", "guesser-bundled", "--limit", "3")

    once = run(*words, *chosen)

    assert once.splitlines()[2].startswith("| guesser | 3 bundled | 1 |")
    assert run(*words, *chosen) == once


def test_measurements_of_a_model_cover_all_servers_task_sets_and_settings(tmp_path):
    words = (sys.executable, EXAMPLES / "measure.py", tmp_path, "--model", "My model=folder")
    listed = run(*words, "--list", "--only", "my-model").split()
    assert listed == [
        f"my-model-{server}-{place}-{setting}"
        for place in ("bundled", "real")
        for server in ("vllm", "local")
        for setting in ("multi-turn", "single-turn")
    ]
