"""Extra scorers: metrics from another package, through the entry-point group `colbench.scorers`."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import colbench
from colbench.cli import main
from colbench.numbers import measure
from colbench.report.console import render_table
from colbench.scorers import extra_metric

PACKAGE = """
from colbench import Metric


def lines(task, answer):
    return len(answer.splitlines())


async def late(task, answer):
    return None if answer else 0.5


class Length:
    metrics = (
        Metric(
            name="longest",
            label="longest line",
            unit="characters",
            bounds=(0, float("inf")),
            direction="lower",
        ),
    )

    async def measure(self, task, answer):
        return {"longest": max(map(len, answer.splitlines()), default=0)}


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
lines = brief_scorers:lines
late = brief_scorers:late
length = brief_scorers:Length
fails = brief_scorers:Fails
gone = brief_scorers:Gone
"""
FEW = {"agent": "interviewer", "tasks": "bundled:backend", "limit": 2, "sandbox_workers": 1}


def table(run: colbench.Run) -> dict[str, str]:
    """Return the lines of the run's table by their labels."""
    out = StringIO()
    Console(file=out, width=160, no_color=True).print(render_table(run.report))
    found: dict[str, str] = {}
    for line in out.getvalue().splitlines():
        label, _, rest = line.strip().partition("  ")
        found.setdefault(label, " ".join(rest.split()))
    return found


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """Install a package with scorers, as pip does."""
    (tmp_path / "brief_scorers.py").write_text(PACKAGE)
    info = tmp_path / "brief_scorers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brief-scorers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def test_extra_metrics_are_recorded_with_the_score_of_the_domain():
    run = colbench.evaluate(scorers=["brevity"], **FEW)
    for rollout in run.rollouts:
        wanted = 1 / (1 + len(rollout.answer.splitlines()))
        assert rollout.scores["default"].metrics == {"brevity": wanted}
        assert rollout.scores["default"].success is True
    assert list(run.to_pandas()["brevity"]) == [
        rollout.scores["default"].metrics["brevity"] for rollout in run.rollouts
    ]


def test_a_function_is_a_scorer_whose_metric_is_a_plain_number():
    run = colbench.evaluate(scorers=["lines", "late"], **FEW)
    wanted = [len(rollout.answer.splitlines()) for rollout in run.rollouts]
    assert [rollout.scores["default"].metrics for rollout in run.rollouts] == [
        {"lines": number} for number in wanted
    ]
    assert list(run.to_pandas()["lines"]) == wanted
    assert table(run)["lines"].startswith(f"{sum(wanted) / len(wanted):.2f} ")


def test_reports_show_a_metric_as_its_scorer_declares_it(tmp_path):
    run = colbench.evaluate(scorers=["length", "brevity"], out=tmp_path / "run", **FEW)
    longest = [rollout.scores["default"].metrics["longest"] for rollout in run.rollouts]
    mean = sum(longest) / len(longest)
    row = table(run)["longest line"]
    assert row.startswith(f"{mean:.2f} characters {min(longest):.2f} to {max(longest):.2f} char")
    assert row.endswith("lower is better")
    assert "%" in table(run)["brevity"]
    assert main(["report", str(run.path)]) == 0
    page = (run.path / "report.html").read_text("utf-8")
    assert "Longest line (lower is better)" in page
    assert f"{mean:.2f} characters" in page


def test_a_metric_of_a_scorer_that_is_not_installed_is_a_plain_number():
    metric = extra_metric("never_installed")
    assert (metric.label, metric.unit, metric.direction) == ("never installed", "", "higher")
    assert measure(1234.5, "") == "1,234"
    assert measure(0.0123, "s") == "0.012 s"
    assert measure(None, "") == "–"


def test_a_scorer_that_fails_leaves_the_dialogue_unscored():
    run = colbench.evaluate(scorers=["fails"], **FEW)
    assert {rollout.failure.boundary for rollout in run.rollouts} == {"scorer"}
    assert all("no ruler" in rollout.failure.reason for rollout in run.rollouts)
    assert all(rollout.scores == {} for rollout in run.rollouts)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("elegance", "--scorers elegance: unknown scorer; installed: .*brevity"),
        ("gone", "--scorers gone: it cannot be built"),
    ],
)
def test_an_unknown_or_broken_scorer_is_named_in_the_error(name, message):
    with pytest.raises(colbench.UserError, match=message):
        colbench.evaluate(scorers=[name], **FEW)
