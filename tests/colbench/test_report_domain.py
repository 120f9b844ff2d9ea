"""The report of a domain from another package, which the harness does not know by name."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from colbench.config import RunConfig
from colbench.report.console import render_table
from colbench.report.read import read_report
from colbench.report.write import write_report
from colbench.rollout import Failure, Rollout, Turn, encode_rollout
from colbench.run_folder import RunFolder, RunRecord, TaskSource
from colbench.score import Score
from colbench.task import Hidden, Task

CONFIG = RunConfig(agent="asker", max_turns=3, trials=2)
QUIZ = """
from colbench.domain import Defaults, Domain, Metric
from colbench.presentation import ReportPages

class Quiz(Domain):
    name = "quiz"
    title = "Pub quizzes"
    noun = "guess"
    metrics = (
        Metric(name="solved", label="share solved", role="success"),
        Metric(name="closeness", label="closeness", role="primary"),
        Metric(name="style", label="elegance"),
    )
    defaults = Defaults(tasks="bundled:backend", agent="interviewer")
    floors = {"shrug": "a shrug"}

    def report_pages(self, folder, config, environment, tasks, rollouts):
        return ReportPages(
            name="score sheet",
            description="all <guesses>.",
            files={"quiz.html": f"{len(tasks)} tasks, {sum(map(len, rollouts))} dialogues, {environment}"},
            addresses={task.id: f"quiz.html#{task.id}" for task in tasks},
        )
"""


@pytest.fixture(autouse=True)
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with the domain `quiz`."""
    packages = tmp_path / "packages"
    information = packages / "quizzes-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: quizzes\nVersion: 1.0\n")
    entry = "[colbench.domains]\nquiz = quiz_domain:Quiz\n"
    (information / "entry_points.txt").write_text(entry)
    (packages / "quiz_domain.py").write_text(QUIZ)
    monkeypatch.syspath_prepend(str(packages))


TASK = Task(id="a", domain="quiz", request="Guess!", hidden=Hidden(reference="42"))


def rollout(trial: int, score: Score | None, *turns: Turn) -> Rollout:
    failure = None if score else Failure(boundary="agent", reason="KeyError")
    return Rollout(
        key=str(trial),
        task_id="a",
        task_hash=TASK.hash,
        domain="quiz",
        trial=trial,
        seed=0,
        request="?",
        turns=turns,
        answer="x",
        ended_by="answer" if score else "failure",
        failure=failure,
        scores={"default": score} if score else {},
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    floors = {"shrug": {"closeness": 0.125, "style": 0.25}}
    metrics = {"style": 0.75, "spelling_errors": 0.5}
    score = Score(
        scorer="q", value=0.5, success=True, metrics=metrics, floors=floors, note="nearly; 3 off"
    )
    first = Turn(raw="?", said="?", human="!", score=Score(scorer="q", value=0.25, success=False))
    rollouts = [rollout(0, score, first, Turn(raw="x", said="x")), rollout(1, None)]
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.save(
        RunRecord(
            started="2025-01-01T00:00:00+00:00",
            config=CONFIG,
            pins={},
            digest="d",
            environments={"quiz": "chalk 1.0"},
            tasks=TaskSource(source="quiz.jsonl", count=1, hash="h"),
        )
    )
    folder.write("rollouts.jsonl", b"".join(map(encode_rollout, rollouts)))
    return folder


def test_metrics_of_the_domain_and_of_extra_scorers_are_reported_by_name(folder):
    report = write_report(folder, [TASK], CONFIG)
    domain = report.domains["quiz"]
    assert (domain.lead, domain.mode, list(domain.modes)) == ("closeness", "default", ["default"])
    assert report.success_rate.mean == 0.5
    assert report.value.mean == 0.25
    means = {name: mean.mean for name, mean in report.metrics.items()}
    assert means == {"solved": 0.5, "closeness": 0.25, "style": 0.375, "spelling_errors": 0.25}
    assert [each.rate.mean for each in domain.pass_k] == [0.5, 0.0]
    assert domain.floors == {"shrug": {"closeness": 0.125, "style": 0.25}}
    assert [each.reason for each in domain.notes] == ["nearly; 3 off"]
    assert [each.success_rate.mean for each in domain.by_turn] == [0.0, 0.5]
    assert [each.value.mean for each in domain.by_turn] == [0.125, 0.125]


def test_the_report_uses_the_labels_of_the_domain(folder):
    report = write_report(folder, [TASK], CONFIG)
    out = StringIO()
    Console(file=out, width=80, no_color=True).print(render_table(report))
    page = (folder.path / "report.html").read_text()
    for words in ("share solved", "closeness", "elegance", "spelling errors", "solved by turn"):
        assert words in out.getvalue()
    for words in ("Pub quizzes", "Share solved", "Elegance", "Spelling errors", "A shrug"):
        assert words in page
    for text in (page, out.getvalue()):
        assert not any(word in text for word in ("Tests passed", "Cosine", "success rate"))


def test_extra_report_pages_of_the_domain_are_written_and_linked(folder):
    report = write_report(folder, [TASK], CONFIG)
    assert report.pages == {"score sheet": "quiz.html"}
    assert (folder.path / "quiz.html").read_text() == "1 tasks, 2 dialogues, chalk 1.0"
    page = (folder.path / "report.html").read_text()
    assert '<a href="quiz.html">Score sheet</a>: all &lt;guesses&gt;.' in page
    assert '"page": "quiz.html#a"' in page


def test_an_unscored_mode_is_replaced_by_the_default_with_a_warning(folder):
    report = write_report(folder, [TASK], RunConfig(trials=2, scoring="official"))
    assert report.domains["quiz"].mode == "default"
    warning = "--scoring official: in this mode, no guess has the metric closeness, so default scores are shown"
    assert report.warnings == (warning,)


def test_report_json_is_read_back_unchanged(folder):
    report = write_report(folder, [TASK], CONFIG)
    assert read_report(folder.path / "report.json") == report
