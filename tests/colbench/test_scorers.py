"""Extra scorers: metrics of another package, by the entry-point group `colbench.scorers`."""

from __future__ import annotations

import pytest

import colbench

PACKAGE = """
from colbench import Metric


class Brevity:
    metrics = (Metric(name="brevity", label="brevity"),)

    async def measure(self, task, answer):
        return {"brevity": 1 / (1 + len(answer.splitlines()))}


class Fails:
    metrics = ()

    async def measure(self, task, answer):
        raise ValueError("no ruler")
"""
POINTS = """[colbench.scorers]
brevity = brief_scorers:Brevity
fails = brief_scorers:Fails
gone = brief_scorers:Gone
"""
FEW = {"agent": "interviewer", "tasks": "bundled:backend", "limit": 2, "sandbox_workers": 1}


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """A package with scorers, as pip would install it."""
    (tmp_path / "brief_scorers.py").write_text(PACKAGE)
    info = tmp_path / "brief_scorers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brief-scorers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def test_its_metrics_are_taken_next_to_the_domains_own():
    run = colbench.evaluate(scorers=["brevity"], **FEW)
    for rollout in run.rollouts:
        wanted = 1 / (1 + len(rollout.answer.splitlines()))
        assert rollout.scores["default"].metrics == {"brevity": wanted}
        assert rollout.scores["default"].success is True
    assert list(run.to_pandas()["brevity"]) == [
        rollout.scores["default"].metrics["brevity"] for rollout in run.rollouts
    ]


def test_a_scorer_that_fails_leaves_the_dialogue_unscored():
    run = colbench.evaluate(scorers=["fails"], **FEW)
    assert {rollout.failure.boundary for rollout in run.rollouts} == {"scorer"}
    assert all("no ruler" in rollout.failure.reason for rollout in run.rollouts)
    assert all(rollout.scores == {} for rollout in run.rollouts)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("elegance", "--scorers elegance: no such scorer; installed are .*brevity"),
        ("gone", "--scorers gone: it cannot be built"),
    ],
)
def test_a_scorer_that_cannot_be_had_is_named(name, message):
    with pytest.raises(colbench.UserError, match=message):
        colbench.evaluate(scorers=[name], **FEW)
