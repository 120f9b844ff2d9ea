"""The pages and reports of the study match its stored results."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import mean

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

import colbench
from sweet_rl_trainer.methods.credit.facts import guess_table
from sweet_rl_trainer.study import report

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_study():
    spec = spec_from_file_location("make_study", DOCS / "make_study.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_and_the_reports_match_the_stored_results(make_study):
    names = [name for name in make_study.WORLDS if make_study.has(name)]
    worlds = {name: make_study.read(DOCS / "study" / f"{name}.json.gz") for name in names}
    for name in make_study.PAGES:
        assert make_study.page(name, worlds) == (DOCS / f"{name}.md").read_text("utf-8")
    for name, results in worlds.items():
        assert report.markdown(results) == (DOCS / "study" / f"{name}.md").read_text("utf-8")


@pytest.fixture
def asking(make_study):
    return make_study.read(DOCS / "study" / "asking.json.gz")


def test_arms_that_lack_seeds_are_listed(make_study, asking):
    rows = tuple(
        row for row in asking.rows if row.arm != "mtdpo" and (row.arm, row.seed) != ("rft", 0)
    )
    fewer = make_study.Numbers(replace(asking, rows=rows))
    assert fewer.unfinished().startswith("`rft` (5 of 6 seeds), `mtdpo`, ")
    assert "`rft-once`" not in fewer.unfinished(), "three seeds are all that it should have"


def test_arms_with_more_or_fewer_supervised_tokens_than_rft_are_listed(make_study, asking):
    tokens = {"rft": 1000.0, "facts": 1090.0, "mtdpo": 1210.0, "zero-shot": 0.0}
    rows = tuple(
        replace(row, budget=replace(row.budget, supervised=tokens[row.arm]))
        for row in asking.rows
        if row.arm in tokens
    )
    numbers = make_study.Numbers(replace(asking, rows=rows))
    assert numbers.supervised("rft") == "1,000"
    assert numbers.uneven() == "`mtdpo` (1,210)"


def test_the_credit_of_the_dialogue_adds_up_to_its_outcome(make_study):
    (_, credit), *turns = make_study.credited()
    assert credit is None, "the request is not the agent's"
    credits = [credit for _, credit in turns]
    assert credits[0] == pytest.approx(-0.01), "a question that changes nothing costs its price"
    assert "def cinema_stars" in turns[-1][0]
    (task,) = colbench.load_tasks(make_study.TASKS)
    before = mean(guess_table(task).all().values())  # each fact is told later with probability 1/2
    reward, costs = 1.0, 0.01 * (len(turns) - 1)
    assert sum(credits) == pytest.approx(reward - before - costs)
