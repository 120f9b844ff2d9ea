from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from colbench.config import RunConfig
from colbench.console import output
from colbench.report.console import FEWEST, LINES, print_report, render_table
from colbench.report.summary import summarize
from colbench.rollout import Failure, Rollout, Turn
from colbench.score import Check, Score
from colbench.task import Hidden, Task

TASKS = [
    Task(id=f"t{n}", domain="backend", request="?", hidden=Hidden(reference="x")) for n in range(3)
]


def rollout(number: int, value: float, official: float, failure: Failure | None = None) -> Rollout:
    return Rollout(
        key=str(number),
        task_id=f"t{number}",
        task_hash=TASKS[number].hash,
        domain="backend",
        trial=0,
        seed=0,
        request="?",
        turns=(Turn(raw="a", said="a"),),
        answer="x",
        ended_by="answer",
        failure=failure,
        scores={}
        if failure
        else {
            "default": Score(scorer="t", value=value, success=value == 1),
            "official": Score(scorer="t", value=official, success=official == 1),
        },
    )


def shown(rollouts: list[Rollout]) -> str:
    out = StringIO()
    report = summarize(TASKS, 1, rollouts, RunConfig())
    Console(file=out, width=80, no_color=True).print(render_table(report))
    return out.getvalue()


def printed(rollouts: list[Rollout], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that are printed after a run."""
    print_report(summarize(TASKS, 1, rollouts, RunConfig()), Path("runs/x"), short=True)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def lines(rollouts: list[Rollout]) -> dict[str, str]:
    found = {}
    for line in shown(rollouts).splitlines():
        label, _, rest = line.strip().partition("  ")
        found.setdefault(label, " ".join(rest.split()))
    return found


def test_the_title_states_the_domain_tasks_trials_and_scoring_mode():
    assert shown([rollout(0, 1.0, 1.0)]).startswith(
        "Backend programming: 3 tasks, 1 trial each; default scoring"
    )


def test_the_table_fits_80_columns_without_color():
    reason = "no answer from [http://example.org/v1] \x1b[2J" * 10
    failure = Failure(boundary="endpoint", reason=reason)
    table = shown([rollout(0, 1.0, 0.0), rollout(1, 0.5, 0.5), rollout(2, 0, 0, failure)])
    assert max(map(len, table.splitlines())) <= 80
    assert "\x1b" not in table
    assert "[http://example.org/v1]" in "".join(table.split()).replace("\n", "")


def test_the_table_shows_rates_modes_and_their_difference():
    table = lines([rollout(0, 1.0, 0.0), rollout(1, 0.5, 0.5), rollout(2, 0.0, 0.0)])
    assert table["success rate"].startswith("33.3%")
    assert table["tests passed"].startswith("50.0%")
    assert table["success rate, official"].startswith("0.0%")
    assert table["official − default, success"].startswith("−33.3 points")
    assert table["official − default, tests"].startswith("−33.3 points")
    assert table["scored tasks"].startswith("3 fewer than 30")
    assert "unscored" not in table


def test_both_denominators_are_shown_when_something_is_unscored():
    table = lines([rollout(0, 1.0, 1.0), rollout(1, 0, 0, Failure(boundary="sandbox", reason="x"))])
    assert table["unscored"].startswith("2 of 3 dialogues")
    assert table["success rate"].startswith("100.0%")
    assert table["success rate, unscored as 0"].startswith("33.3%")
    assert table["sandbox"] == "1 x (1)"
    assert table["not begun"].startswith("1")


def test_a_run_without_a_finished_dialogue_shows_a_note_instead_of_scores(capsys):
    table = lines([])
    assert "0 of 3 dialogues; no dialogue is finished yet" in " ".join(shown([]).split())
    assert not any("success" in label or "tests passed" in label for label in table)
    assert "no dialogue is finished yet" in " ".join(printed([], capsys))
    unscored = lines([rollout(0, 0, 0, Failure(boundary="sandbox", reason="x"))])
    assert unscored["scored"] == "0 of 3 dialogues"


def crashed(number: int, error: str) -> Rollout:
    check = Check(call="f()", outcome="error", actual=error)
    score = Score(scorer="t", value=0.0, success=False, checks=(check,))
    return replace(rollout(number, 0, 0), scores={"default": score})


def test_the_most_frequent_error_excludes_failures_of_the_agent(capsys):
    rollouts = [
        crashed(0, "NameError: name 'f' is not defined"),
        crashed(1, "NameError: name 'g' is not defined"),
        rollout(2, 0, 0, Failure(boundary="agent", reason="boom")),
    ]
    table = " ".join(shown(rollouts).split())
    said = "2 of 2 crashed answers, such as NameError: name 'f' is not defined"
    assert "3 the agent failed (1), or its answer returned no value in any test (2)" in table
    assert said in table
    assert said in " ".join(" ".join(printed(rollouts, capsys)).split())
    (error,) = summarize(TASKS, 1, rollouts, RunConfig()).domains["backend"].failed.errors
    assert (error.reason, error.count) == ("NameError: name 'f' is not defined", 2)
    assert "most frequent error" not in lines([rollout(0, 0.0, 0.0), *rollouts[2:]])


def test_crashed_answers_without_an_error_text_have_no_most_frequent_error():
    unknown = [crashed(0, ""), crashed(1, "")]
    assert "most frequent error" not in lines(unknown)
    table = " ".join(shown([*unknown, crashed(2, "NameError: f")]).split())
    assert "most frequent error 1 of 3 crashed answers, such as NameError: f" in table


def test_uncounted_tokens_are_shown_as_not_counted():
    assert lines([rollout(0, 1.0, 1.0)])["agent tokens"].startswith("not counted")


def test_the_short_report_has_few_lines_and_breaks_no_word(capsys):
    address = "http://model-server.example.org/v1/chat,"
    reason = f"no answer from {address} HTTP 503 " * 4
    failures = [
        Failure(boundary=boundary, reason=reason) for boundary in ("agent", "endpoint", "simulator")
    ]
    for rollouts in (
        [rollout(0, 1.0, 0.0), rollout(1, 0.5, 0.5), rollout(2, 0, 0, failures[1])],
        [rollout(n, 0, 0, failures[n]) for n in range(3)],
        [],
    ):
        shown = printed(rollouts, capsys)
        table = shown[: shown.index("Report: runs/x/report.html")]
        assert len(shown) <= LINES
        assert len(table) >= FEWEST
        assert max(map(len, table)) <= 80
        parts = {word for word in " ".join(table).split() if "http" in word or "/" in word}
        assert parts == ({address} if rollouts else set())


def test_the_short_report_cuts_a_word_that_is_longer_than_a_line(capsys):
    failure = Failure(boundary="endpoint", reason="word" * 30)
    table = " ".join(printed([rollout(0, 0, 0, failure)], capsys)).split()
    (cut,) = (word for word in table if "word" in word)
    assert cut.endswith("…")
    assert ("word" * 30).startswith(cut[:-1])


def test_the_time_is_labeled_as_dialogue_time(capsys):
    rollouts = [replace(rollout(0, 1.0, 0.0), started="2026-01-01T00:00:00", seconds=16.0)]
    said = "dialogue time 16 s does not include startup and scoring"
    assert said in " ".join(shown(rollouts).split())
    assert said in " ".join(" ".join(printed(rollouts, capsys)).split())


def test_the_short_report_omits_empty_rows_and_ends_with_next_commands(capsys):
    shown = printed([rollout(0, 1.0, 0.0), rollout(1, 0.5, 0.5), rollout(2, 0.0, 0.0)], capsys)
    rows = {line[2:].split("  ")[0]: line for line in shown if line.startswith("  ")}
    assert "tests passed; 1 of 3 verdicts differ" in rows["official scoring"]
    assert rows["failed"].split()[1:] == ["2", "all", "wrong", "code"]
    assert not {"unscored", "ask F1", "agent tokens", "leaked by human", "cosine"} & rows.keys()
    assert not any(line.rstrip().endswith(("–", "not counted", " 0")) for line in rows.values())
    assert shown[-3:] == [
        "Failed dialogues: colbench view runs/x --failed (one dialogue: --task ID)",
        "Dialogues in a browser: colbench view runs/x",
        "All numbers: colbench report runs/x",
    ]
    same = printed([rollout(n, 1.0, 1.0) for n in range(3)], capsys)
    assert not any("official" in line or "--failed" in line for line in same)


def test_the_short_report_names_the_scoring_mode_that_does_not_lead(capsys):
    rollouts = [rollout(0, 1.0, 0.0), rollout(1, 0.5, 0.5), rollout(2, 0.0, 0.0)]
    report = summarize(TASKS, 1, rollouts, RunConfig(scoring="official"))
    print_report(report, Path("runs/x"), short=True)
    found = [line.split() for line in capsys.readouterr().out.splitlines() if " scoring " in line]
    assert [line[:3] for line in found] == [["default", "scoring", "50.0%"]]


def test_the_other_scoring_mode_is_shown_only_if_it_differs():
    same = [rollout(0, 1.0, 1.0), rollout(1, 0.5, 0.5), rollout(2, 0.0, 0.0)]
    assert not any("official" in label for label in lines(same))
    assert any("official" in label for label in lines([rollout(0, 1.0, 0.0), *same[1:]]))


def test_the_folder_in_a_printed_command_is_quoted(capsys):
    print_report(summarize(TASKS, 1, [], RunConfig()), Path("my run"), short=True)
    assert "colbench report 'my run'" in capsys.readouterr().out


def test_escape_sequences_in_a_warning_are_not_sent_to_the_terminal(capsys):
    report = replace(summarize(TASKS, 1, [], RunConfig()), warnings=("\x1b[2Jgone",))
    print_report(report, Path("runs/x"))
    assert "\x1b" not in capsys.readouterr().out


def test_the_table_keeps_its_intervals_in_a_narrow_terminal(capsys, monkeypatch):
    shown = []
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        with output(as_json=False, quiet=False):
            print_report(summarize(TASKS, 1, [rollout(0, 0.25, 0.25)], RunConfig()), Path("x"))
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert "95% interval" in shown[0]
