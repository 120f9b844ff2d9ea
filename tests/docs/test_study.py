"""The study's page and reports are those of the stored results."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.study import report

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_study():
    spec = spec_from_file_location("make_study", DOCS / "make_study.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_and_the_reports_are_made_from_the_stored_results(make_study):
    names = [name for name in make_study.WORLDS if make_study.has(name)]
    worlds = {name: make_study.read(DOCS / "study" / f"{name}.json.gz") for name in names}
    for name in make_study.PAGES:
        assert make_study.page(name, worlds) == (DOCS / f"{name}.md").read_text("utf-8")
    for name, results in worlds.items():
        assert report.markdown(results) == (DOCS / "study" / f"{name}.md").read_text("utf-8")


def test_the_credit_of_the_dialogue_adds_up_to_its_outcome(make_study):
    credits = [credit for _, credit in make_study.credited() if credit is not None]
    texts = [text for text, _ in make_study.credited()]
    assert credits[0] == pytest.approx(-0.01), "a question that changes nothing costs its price"
    assert "def cinema_stars" in texts[-1]
    questions = len(credits) - 1
    before = 1.0 + 0.01 * -questions - sum(credits)
    assert 0 < before < 1, "what a guess passes before the first turn"
