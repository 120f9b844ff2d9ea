"""The architecture: imports, and limits of size. Import-linter checks the layers."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import grimp

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
    "matplotlib",
}


def sources():
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def test_starting_the_command_line_imports_no_heavy_package():
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


def test_the_dialogue_loop_has_at_most_40_lines():
    tree = ast.parse((ROOT / "colbench" / "dialogue.py").read_text("utf-8"))
    play = next(n for n in tree.body if isinstance(n, ast.AsyncFunctionDef) and n.name == "play")
    assert play.end_lineno - play.lineno < 40


def named_domains(path: Path) -> set[str]:
    """Return the names of ColBench's own domains that are string constants in a source file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in ("backend", "frontend")
    }


def test_at_most_ten_files_outside_the_domains_name_a_domain():
    own = ROOT / "colbench" / "domains"
    naming = [path for path in sources() if own not in path.parents and named_domains(path)]
    assert len(naming) <= 10, sorted(str(path.relative_to(ROOT)) for path in naming)


def test_no_modules_import_each_other_in_a_cycle():
    packages = configparser.ConfigParser()
    packages.read(ROOT / ".importlinter")
    graph = grimp.build_graph(*packages["importlinter"]["root_packages"].split(), cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while leaves := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in leaves:
            del left[module]
    assert sorted(left) == []  # the rest import each other


def test_the_import_contracts_have_no_exceptions():
    assert "ignore_imports" not in (ROOT / ".importlinter").read_text("utf-8")


TRAINER = "sweet_rl_trainer"
METHODS = ("sweet", "rft", "turn_rft", "mtdpo", "grpo", "fic")


def trainer():
    """Return the import graph of the trainer: a mapping from each module to the modules that it imports."""
    graph = grimp.build_graph(TRAINER, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def chain(imports):
    """Return the longest chain of imports, as modules."""
    known = {}

    def longest(module):
        if module not in known:
            below = max((longest(each) for each in imports[module]), key=len, default=[])
            known[module] = [module, *below]
        return known[module]

    return max(map(longest, imports), key=len)


def reachable(imports, start):
    found, left = set(), [start]
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left += imports[module]
    return found


def test_the_longest_import_chain_of_the_trainer_has_at_most_14_modules():
    longest = chain(trainer())
    assert len(longest) <= 14, longest


def test_at_most_18_modules_lead_from_a_trainer_command_to_the_loss():
    """Count all modules on any path from `sweet-rl run` to the loss, through the method and the training process."""
    imports = trainer()
    pipeline = f"{TRAINER}.pipeline"
    worker = {f"{pipeline}.worker": {f"{pipeline}.train_examples"}}
    worker[f"{pipeline}.train_examples"] = {f"{TRAINER}.train.run"}
    for method in METHODS:
        modules = {f"{TRAINER}.methods.{each}" for each in METHODS if each != method}
        ways = {module: each - modules for module, each in imports.items()} | worker
        ways[f"{TRAINER}.methods.{method}"] -= {f"{pipeline}.method"}
        ways[f"{pipeline}.method"] |= {f"{TRAINER}.methods.{method}"}
        ways[f"{pipeline}.training"] |= {f"{pipeline}.worker"}
        start, loss = f"{TRAINER}.cli.run", f"{TRAINER}.train.loss"
        between = [each for each in reachable(ways, start) if loss in reachable(ways, each)]
        assert len(between) <= 18, sorted(between)
        assert loss in between
