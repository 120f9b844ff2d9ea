"""The steps of docs/new-family.md, followed exactly: a package with a family, from an empty folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from code_blocks import Workplace

from colbench.rollout import read_rollouts
from colbench_tasks.bundled import SETS


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Workplace:
    """Return a workplace in which the page was followed."""
    place = Workplace(tmp_path_factory.mktemp("new_family") / "reader", cache)
    place.follow("docs/new-family.md")
    return place


@pytest.mark.weekly
def test_the_steps_of_the_page_give_a_family_that_the_interviewer_solves(place: Workplace) -> None:
    rollouts = read_rollouts(place.folder / "runs" / "eggs" / "rollouts.jsonl")
    assert len(rollouts) == 20
    assert all(rollout.scores["default"].success for rollout in rollouts)


@pytest.mark.weekly
def test_the_family_joins_generated_tasks_but_no_frozen_set(place: Workplace) -> None:
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
    with_eggs, without = (
        json.loads(
            place.run(
                "python", "-c", code, PYTHONPATH=path, COLBENCH_CACHE=str(place.folder / name)
            )
        )
        for name, path in (("one", str(place.site)), ("other", ""))
    )
    assert with_eggs["last"] == "eggs"
    assert with_eggs["drawn"] == sorted([*without["drawn"], "eggs"])
    assert with_eggs["pinned"] == without["pinned"]
    assert with_eggs["frozen"] == [SETS[name].sha256 for name in ("backend/test", "frontend/test")]
    assert without["frozen"] == with_eggs["frozen"]


@pytest.mark.slow
def test_the_package_of_a_family_is_hidden_from_sandboxed_agents(place: Workplace) -> None:
    code = (
        "from colbench.config import RunConfig\n"
        "from colbench.sandbox.agent import find_hidden\n"
        "print(*sorted(find_hidden(RunConfig(), None).packages))\n"
    )
    assert "colbench_eggs" in place.run("python", "-c", code).split()
