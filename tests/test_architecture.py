"""The shape of the house: what loads what, and how large things get. Layers are import-linter's."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("colbench", "agents", "tasks", "leaderboard", "sweet_rl_trainer")
HEAVY = {
    "torch",
    "vllm",
    "playwright",
    "datasets",
    "ray",
    "numpy",
    "aiohttp",
    "pandas",
    "rich",
    "PIL",
}


def sources():
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def test_starting_the_command_line_loads_nothing_heavy():
    code = "import sys, colbench.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert HEAVY.isdisjoint(loaded.stdout.split())


def test_no_source_file_is_longer_than_400_lines():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in sources()}
    assert lengths
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_no_function_is_longer_than_60_lines():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= 60
    ]
    assert long == []


def test_the_dialogue_fits_on_one_screen():
    tree = ast.parse((ROOT / "colbench" / "dialogue.py").read_text("utf-8"))
    play = next(n for n in tree.body if isinstance(n, ast.AsyncFunctionDef) and n.name == "play")
    assert play.end_lineno - play.lineno < 40
