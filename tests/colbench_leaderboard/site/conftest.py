"""A small store with real bundles that contain hostile text, and its site."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from colbench_leaderboard.board.standings import read_standings
from colbench_leaderboard.site.build import build
from colbench_leaderboard.verify.receipt import Finding

HERE = Path(__file__).parent
MARKUP = "<script>hit=1</script><img src=x onerror=hit=1>\"'&amp;<b onclick=hit=1>"
"""Markup in every submitted text. No page may ever set the variable `hit`."""


def _stores() -> ModuleType:
    """Load the benchmarks' module that makes stores; it is not in a package."""
    path = HERE.parents[1] / "benchmarks" / "leaderboard_store.py"
    spec = util.spec_from_file_location("leaderboard_store", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def stores() -> ModuleType:
    """Return the module `leaderboard_store`."""
    return _stores()


@pytest.fixture(scope="session")
def tasks(stores):
    """Return 30 backend tasks: more than a page of dialogues."""
    return stores.make_tasks(30)


@pytest.fixture(scope="session")
def store(tmp_path_factory, stores, tasks):
    """Return a store: nine ranked entries, a hostile flagged one, three reference lines, one removed, one refused."""
    made = stores.make_store(tmp_path_factory.mktemp("store") / "store", 9, tasks)
    finding = Finding(rule="audit.x", severity="flag", file=MARKUP, line=3, message=MARKUP)
    made.add(
        stores.Entrant(
            name=f"={MARKUP}",
            skill=0.3,
            organization=MARKUP,
            description=MARKUP,
            model=MARKUP,
            notes=MARKUP,
            said=f"{MARKUP} \u202egnorw",
            answer=f"</pre></textarea>{MARKUP}" + "long " * 5000,
            findings=(finding,),
            trained=True,
        )
    )
    gone = made.add(stores.Entrant(name="Removed system", skill=0.9))
    made.decide("removed", gone, reason=f"copied {MARKUP}")
    made.decide("refused", "f" * 64, receipt="e" * 64, reason=MARKUP)
    return made


@pytest.fixture(scope="session")
def standings(store):
    return read_standings(store.folder)


@pytest.fixture(scope="session")
def site(tmp_path_factory, store, standings, tasks) -> Path:
    """Return the site, built without the reference of one task."""
    out = tmp_path_factory.mktemp("out") / "site"
    build(store.folder, standings, out, tasks[1:])
    return out


@pytest.fixture(scope="session")
def board(standings):
    """Return the only board of the store."""
    return standings.boards[0]
