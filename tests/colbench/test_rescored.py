"""The table of means before and after rescoring."""

from __future__ import annotations

from colbench.cli.rescored import Delta
from colbench.rollout import Rollout
from colbench.score import Score

DRAWING = """
from colbench.domain import Defaults, Domain, Metric

class Drawing(Domain):
    name = "drawing"
    title = "Drawings"
    metrics = (
        Metric(name="likeness", label="likeness", role="primary"),
        Metric(name="lines", label="lines [whole picture]", role="fallback"),
    )
    defaults = Defaults(tasks="bundled:backend", agent="interviewer")
"""


def drawing(lines: float) -> Rollout:
    score = Score(scorer="d", value=None, success=None, metrics={"lines": lines})
    return Rollout(
        key="a/0",
        task_id="a",
        task_hash="h",
        domain="drawing",
        trial=0,
        seed=0,
        request="?",
        turns=(),
        answer="x",
        ended_by="answer",
        scores={"default": score},
    )


def test_brackets_in_the_label_of_a_metric_are_printed(tmp_path, monkeypatch, capsys):
    information = tmp_path / "drawings-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: drawings\nVersion: 1.0\n")
    entry = "[colbench.domains]\ndrawing = drawing_domain:Drawing\n"
    (information / "entry_points.txt").write_text(entry)
    (tmp_path / "drawing_domain.py").write_text(DRAWING)
    monkeypatch.syspath_prepend(str(tmp_path))
    delta = Delta()
    delta.add(drawing(0.25), drawing(0.75))
    delta.show()
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.split() == [
        "default,", "lines", "[whole", "picture]", "25.00%", "75.00%", "+50.00", "1",
    ]  # fmt: skip
