import json

import pytest

from colbench.cli import main
from colbench.cli.rescored import Lost
from colbench.cli.score import warn
from colbench.console import output
from colbench.rollout import Failure


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder that contains two small runs."""
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("guesser", "interviewer"):
        words = ["eval", "--agent", agent, "--limit", "3", "--out", str(folder / agent), "--quiet"]
        assert main(words) == 0
    return folder


def test_eval_prints_only_its_report_on_standard_output(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["eval", "--limit", "2", "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((out / "report.json").read_text())
    assert "interviewer" in printed.err


def test_quiet_eval_prints_nothing(tmp_path, capsys):
    assert main(["eval", "--limit", "2", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_quiet_eval_prints_errors(capsys):
    assert main(["eval", "--agent", "nobody", "--quiet"]) == 2
    assert "--agent nobody" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "report {runs}/guesser",
        "compare {runs}/guesser {runs}/interviewer",
        "score {runs}/guesser",
        "repair {runs}/guesser",
        "tasks list bundled:backend",
        "tasks show parking-test-0001",
        "tasks validate bundled:backend --limit 2",
        "agents list",
        "agents show openai",
        "agents check interviewer",
    ],
)
def test_json_is_one_document_on_standard_output(line, runs, capsys):
    main([*line.format(runs=runs).split(), "--json"])
    json.loads(capsys.readouterr().out)


def test_a_sweep_prints_only_its_comparison_as_json_or_nothing(tmp_path, capsys):
    file = tmp_path / "two.toml"
    file.write_text(
        '[base]\nlimit = 2\n[[run]]\nagent = "guesser"\n[[run]]\nagent = "interviewer"\n'
    )
    words = ["sweep", str(file), "--out", str(tmp_path / "runs")]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"]
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_failed_rescoring_is_reported_even_with_quiet(capsys):
    lost = Lost()
    lost.add(Failure(boundary="scorer", reason="the disk is full"))
    with output(as_json=False, quiet=True):
        warn(lost)
    said = "1 dialogue could not be rescored and keeps its score: the disk is full\n"
    assert capsys.readouterr() == ("", said)
