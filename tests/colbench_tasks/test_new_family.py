"""docs/new-family.md, followed as it is written: a package with a family, from an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.rollout import read_rollouts
from colbench_tasks.bundled import SETS

PAGE = (Path(__file__).parents[2] / "docs" / "new-family.md").read_text("utf-8")
COLBENCH = "import sys; from colbench.cli import main; sys.exit(main())"


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command that has to succeed, and return its output."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of the page, and the package installed into its folder `site`."""
    folder = tmp_path_factory.mktemp("new_family")
    files = re.findall(r"^`(\S+)`\n\n```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(files) == 3
    for name, content in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    pip = (sys.executable, "-m", "pip", "install", *offline, "--target", "site")
    run(*pip, "./colbench-eggs", cwd=folder)
    return folder


@pytest.fixture
def site(here: Path) -> str:
    return str(here / "site")


def test_the_commands_of_the_page_run(here: Path, site: str, cache: Path) -> None:
    section = PAGE.partition("\n## Run it\n")[2]
    [install, *commands] = section.split("```")[1].splitlines()[1:]
    assert install == "pip install ./colbench-eggs"
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "colbench"
        colbench = (sys.executable, "-c", COLBENCH, *arguments)
        run(*colbench, cwd=here, PYTHONPATH=site, COLBENCH_CACHE=str(cache))
    rollouts = read_rollouts(here / "runs" / "eggs" / "rollouts.jsonl")
    assert len(rollouts) == 20
    assert all(rollout.scores["default"].success for rollout in rollouts)


@pytest.mark.slow
def test_the_family_joins_generated_tasks_and_no_frozen_set(here: Path, site: str) -> None:
    code = """
import hashlib, json
from colbench_tasks import bundled, generated
from colbench_tasks.families import FAMILIES
pinned = "backend/mine?number=9&families=parking,hotel"
print(json.dumps({
    "last": list(FAMILIES)[-1],
    "drawn": sorted({task.family for task in generated.load("backend/mine")}),
    "pinned": [task.hash for task in generated.load(pinned)],
    "frozen": [hashlib.sha256(bundled.lines(bundled.load(name))).hexdigest() for name in
               ("backend/test", "frontend/test")],
}))
"""
    python = (sys.executable, "-c", code)
    with_eggs, without = (
        json.loads(run(*python, cwd=here, COLBENCH_CACHE=str(here / name), **path))
        for name, path in (("one", {"PYTHONPATH": site}), ("other", {}))
    )
    assert with_eggs["last"] == "eggs"
    assert with_eggs["drawn"] == sorted([*without["drawn"], "eggs"])
    assert with_eggs["pinned"] == without["pinned"]
    assert with_eggs["frozen"] == [SETS[name].sha256 for name in ("backend/test", "frontend/test")]
    assert without["frozen"] == with_eggs["frozen"]


def test_the_package_of_a_family_is_hidden_from_sandboxed_agents(here: Path, site: str) -> None:
    code = (
        "from colbench.config import RunConfig\n"
        "from colbench.sandbox.agent import find_hidden\n"
        "print(*sorted(find_hidden(RunConfig(), None).packages))\n"
    )
    assert "colbench_eggs" in run(sys.executable, "-c", code, cwd=here, PYTHONPATH=site).split()
