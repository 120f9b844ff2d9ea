"""The command line on frontend design: a whole run, resuming, rescoring, render, validate, and mistakes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from code_blocks import blocks

from colbench.cli import main
from colbench.rollout import read_rollouts

STILL = (
    '{"problem_description": "A page", "ground_truth": "<html><body><h1>Hello</h1></body></html>"}'
)
EMPTY = STILL.replace("Hello", "")
TOO_BIG = STILL.replace("Hello", "x" * 2_100_000)
MOVING = STILL.replace(
    "Hello",
    "Hello<img width=1280 height=200 src='data:image/svg+xml,"
    "<svg xmlns=%22http://www.w3.org/2000/svg%22><style>@keyframes k"
    "{to{transform:translateX(900px)}}rect{animation:k 1.7s linear infinite}</style>"
    "<rect width=%2299%22 height=%2299%22/></svg>'>",
)


@pytest.fixture
def here(tmp_path, monkeypatch, browser):
    """Return an empty folder to work in, with its own store of renders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "tasks.jsonl").write_text(STILL + "\n")
    return tmp_path


def report(folder="out"):
    return json.loads(Path(folder, "report.json").read_text())["domains"]["frontend"]


@pytest.mark.slow
def test_the_keyless_agent_and_human_improve_pages_from_turn_to_turn(here, capsys):
    assert main(["eval", "--domain", "frontend", "--limit", "3", "--out", "out"]) == 0
    printed = capsys.readouterr()
    assert "designer (colbench_agents.designer" in printed.out
    assert "Chromium" in printed.out
    assert Path("out/gallery.html").exists()
    for rollout in read_rollouts(Path("out/rollouts.jsonl")):
        worth = [turn.score.metrics["layout"] for turn in rollout.turns if turn.score]
        assert worth[-1] > worth[0] + 0.1
        assert rollout.scores["default"].floors.keys() == {"black", "white", "other", "target"}
    record = json.loads(Path("out/run.json").read_text())
    assert record["pins"]["browser"]["environment"] == record["environments"]["frontend"]


def test_counts_of_one_are_printed_in_the_singular(here, capsys):
    assert main(["eval", "--tasks", "tasks.jsonl", "--max-turns", "1", "--dry-run"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "tasks.jsonl: 1 task x 1 = 1 dialogue of at most 1 turn run" in printed


def test_tasks_of_a_domain_are_listed_and_shown(capsys):
    assert main(["tasks", "list", "--domain", "frontend"]) == 0
    first = capsys.readouterr().out.split()[0]
    assert main(["tasks", "show", first, "--domain", "frontend"]) == 0
    assert "<html" in capsys.readouterr().out
    assert main(["tasks", "list", "--domain", "frontend", "--tasks", "bundled:backend"]) == 2
    assert (
        "--domain frontend: bundled:backend has no task of this domain" in capsys.readouterr().err
    )


@pytest.mark.slow
def test_the_documented_human_works_as_written(here):
    (human,) = (each.text for each in blocks("docs/frontend.md") if each.language == "python")
    Path("glance.py").write_text(human)
    argv = ["eval", "--domain", "frontend", "--limit", "2", "--max-turns", "2", "--out", "out"]
    assert main([*argv, "--human", "glance.py:Glance"]) == 0
    said = {r.turns[0].human for r in read_rollouts(Path("out/rollouts.jsonl"))}
    assert said <= {"It should be taller.", "It should be shorter."}


@pytest.mark.weekly
def test_blank_scores_zero_and_guesser_below_designer(here, capsys):
    common = ["eval", "--domain", "frontend", "--limit", "2"]
    for agent in ("blank", "guesser", "designer"):
        assert main([*common, "--agent", agent, "--out", agent]) == 0
    layout = {
        agent: report(agent)["metrics"]["layout"]["mean"]
        for agent in ("blank", "guesser", "designer")
    }
    assert layout["blank"] == 0 < layout["guesser"] < layout["designer"]


@pytest.mark.weekly
def test_reports_have_the_win_rate_against_a_baseline_run(here, capsys):
    common = ["eval", "--domain", "frontend", "--limit", "2"]
    main([*common, "--agent", "guesser", "--out", "base"])
    assert main([*common, "--out", "out", "--baseline", "base"]) == 0
    assert report()["win_rate"]["rate"]["mean"] == 1
    assert main(["report", "base", "--baseline", "base"]) == 0
    assert report("base")["win_rate"]["rate"]["mean"] == 0.5


@pytest.mark.weekly
def test_a_killed_run_continues_where_it_stopped(here):
    argv = [sys.executable, "-m", "colbench.cli", "eval", "--domain", "frontend", "--limit", "6"]
    argv += ["--concurrency", "1", "--out", "out"]
    file = Path("out/rollouts.jsonl")
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (file.exists() and file.read_bytes().count(b"\n") >= 2):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = file.read_bytes()
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 0
    rollouts = file.read_bytes()
    assert rollouts.startswith(before[: before.rfind(b"\n") + 1])
    assert rollouts.count(b"\n") == len({r.key for r in read_rollouts(file)}) == 6


@pytest.fixture
def without_clip(here, monkeypatch, browser):
    """Return the same folder as `here` on a machine without CLIP's weights."""
    monkeypatch.setenv("COLBENCH_BROWSER", str(browser))
    monkeypatch.setenv("HOME", str(here))
    return here


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory, browser):
    """Return a folder with a finished run without CLIP's weights, its tasks and its store of renders."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "tasks.jsonl").write_text(STILL + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLBENCH_CACHE", str(folder / "cache"))
        patch.setenv("COLBENCH_BROWSER", str(browser))
        patch.setenv("HOME", str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        assert main(["eval", "--tasks", "tasks.jsonl", "--out", "out"]) == 0
    return folder


@pytest.fixture
def run_copy(finished_run, without_clip):
    """Copy the finished run, its tasks and its renders into the current folder."""
    shutil.copytree(finished_run, without_clip, dirs_exist_ok=True)


def test_rescoring_adds_the_cosine_and_repeats_no_dialogue(run_copy, tiny_clip, capsys):
    (before,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert before.scores["default"].value is None
    other = ["--clip-weights", str(tiny_clip), "--allow-other-clip"]
    assert main(["score", "out", *other]) == 0
    (after,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert 0 < after.scores["default"].value == after.scores["default"].metrics["cosine"] <= 1
    assert after.scores["official"].value is not None
    assert after.turns[-1].score.metrics["cosine"] == after.scores["default"].value
    assert [(t.raw, t.said, t.human) for t in after.turns] == [
        (t.raw, t.said, t.human) for t in before.turns
    ]
    assert (after.started, after.seconds, after.answer) == (
        before.started,
        before.seconds,
        before.answer,
    )


@pytest.mark.weekly
def test_rescoring_without_weights_is_refused_and_keeps_the_cosines(
    without_clip, tiny_clip, capsys
):
    other = ["--clip-weights", str(tiny_clip), "--allow-other-clip"]
    assert main(["eval", "--tasks", "tasks.jsonl", "--out", "out", *other]) == 0
    record = json.loads(Path("out/run.json").read_text())
    record["config"]["clip_weights"] = None  # as if the weights were at their default path
    Path("out/run.json").write_text(json.dumps(record))
    before = [Path("out", name).read_bytes() for name in ("rollouts.jsonl", "run.json")]
    assert main(["score", "out"]) == 2
    assert "Pass CLIP's weights with --clip-weights" in capsys.readouterr().err
    assert [Path("out", name).read_bytes() for name in ("rollouts.jsonl", "run.json")] == before


@pytest.mark.weekly
def test_official_scoring_without_weights_warns_that_default_is_shown(without_clip, capsys):
    argv = ["eval", "--tasks", "tasks.jsonl", "--out", "out"]
    assert main([*argv, "--scoring", "official"]) == 0
    said = "--scoring official: in this mode, no page has the metric layout, so default"
    assert f"Warning: {said}" in capsys.readouterr().out
    assert said.replace("'", "&#x27;") in Path("out/report.html").read_text()
    assert main(["report", "out", "--scoring", "default"]) == 0
    assert "Warning" not in capsys.readouterr().out


@pytest.mark.weekly
def test_rescoring_with_another_browser_adds_a_warning_to_every_report(
    run_copy, here, browser, capsys
):
    assert main(["report", "out"]) == 0
    assert "Warning" not in capsys.readouterr().out
    other = here / "other-chromium"
    other.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo Chromium 1.2.3.4 || exec {browser} "$@"\n'
    )
    other.chmod(0o755)
    assert main(["score", "out", "--browser", str(other)]) == 0
    said = "Warning: answers were scored with other tools than the run's"
    assert said in capsys.readouterr().out
    assert main(["report", "out"]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert "Chromium 1.2.3.4" in printed
    record = json.loads(Path("out/run.json").read_text())
    assert "Chromium 1.2.3.4" in record["environments"]["frontend"]


def test_failed_rescoring_keeps_the_scores(run_copy, capsys):
    before = Path("out/rollouts.jsonl").read_bytes()
    for picture in Path("cache/renders").glob("*.png"):  # no render can be stored under its name
        picture.with_suffix(".json").unlink()
        picture.unlink()
        picture.mkdir()
    capsys.readouterr()
    assert main(["score", "out"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "1 dialogue could not be rescored and keeps its score: renders cannot be" in said
    assert Path("out/rollouts.jsonl").read_bytes() == before


def test_render_writes_a_picture(here, capsys):
    Path("page.html").write_text(
        "<html><body><img src='https://nowhere.example/a.png'>x</body></html>"
    )
    assert main(["render", "page.html"]) == 0
    printed = capsys.readouterr()
    assert "page.png: 1280 x 720 pixels" in printed.out
    assert "blocked: https://nowhere.example/a.png" in printed.err
    assert Path("page.png").read_bytes().startswith(b"\x89PNG")
    assert main(["render", "page.html", "-o", "o.png", "--mode", "official"]) == 0
    assert "o.png: 1366 x " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", "HTML that starts with a doctype, <html> or <body>"),
        ("official", "HTML from <html> to </html>"),
    ],
)
def test_render_says_what_a_page_is_in_each_mode(tmp_path, capsys, mode, expected):
    notes = tmp_path / "notes.txt"
    notes.write_text("no page")
    assert main(["render", str(notes), "--mode", mode]) == 2
    assert f"contains no page; expected {expected}\n" in capsys.readouterr().err


@pytest.mark.slow
def test_validate_reports_unscorable_pages_and_writes_the_sound_ones(here, capsys):
    Path("two.jsonl").write_text(f"{STILL}\n{TOO_BIG}\n{EMPTY}\n{{oops\n")
    assert main(["tasks", "validate", "two.jsonl", "--exclude", "sound.jsonl"]) == 1
    printed = capsys.readouterr()
    assert "1 of 3" in printed.out
    assert "two.jsonl, line 4: JSON is malformed" in printed.out
    assert "two.jsonl: 3 tasks, 1 malformed row" in printed.out
    assert "nothing is visible on the page" in printed.out
    assert "its target cannot be rendered (too big" in printed.out
    assert "`colbench tasks validate`" not in printed.out
    assert main(["tasks", "validate", "sound.jsonl", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["default"], found["unsteady"]) == (1, 1, [])
    assert found["floors"]["target"]["ssim"] == 1
    assert found["floors"]["black"]["ssim"] < 1


@pytest.mark.weekly
def test_validate_names_a_page_that_renders_differently_each_time(here, capsys):
    Path("moving.jsonl").write_text(MOVING + "\n")
    assert main(["tasks", "validate", "moving.jsonl", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (task,) = found["flawed"]
    assert found["unsteady"] == [task["id"]]
    assert "its target cannot be rendered (varies" in task["flaws"][1]


@pytest.mark.slow
def test_an_unrenderable_target_is_named_and_its_dialogue_is_unscored(here, capsys):
    Path("bad.jsonl").write_text(TOO_BIG + "\n")
    assert main(["eval", "--tasks", "bad.jsonl", "--out", "out"]) == 1
    assert report()["unscored"] == 1
    (rollout,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert f"{rollout.task_id} cannot be rendered" in rollout.failure.reason


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["eval", "--domain", "frontend", "--browser", "nowhere"], "--browser names nowhere"),
        (
            ["eval", "--domain", "frontends"],
            "--domain frontends: unknown; did you mean `frontend`? Installed: backend, frontend",
        ),
        (
            ["eval", "--domain", "frontend", "--tasks", "bundled:backend"],
            "has no task of this domain",
        ),
        (["eval", "--domain", "frontend", "--baseline", "nowhere"], "nowhere"),
        (["eval", "--domain", "frontend", "--clip-weights", "nowhere"], "--clip-weights"),
        (
            ["eval", "--domain", "frontend", "--agent", "interviewer"],
            "--agent interviewer: it supports backend tasks, but bundled:frontend has frontend tasks; choose another "
            "agent, such as designer",
        ),
        (["eval", "--agent", "designer"], "such as interviewer, or select tasks with --domain"),
        (["render", "nowhere.html"], "nowhere.html: cannot be read"),
        (["render", "tasks.jsonl", "--browser", "/bin/true"], "/bin/true"),
    ],
)
def test_a_mistake_gives_a_clear_message_and_exit_code_2(here, capsys, argv, said):
    assert main(argv) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_clip_errors_name_the_flag_that_caused_them(here, tiny_clip, capsys):
    common = ["eval", "--domain", "frontend", "--clip-weights", str(tiny_clip)]
    assert main(common) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--clip-weights: " in said
    assert "or allow these with --allow-other-clip" in said
    assert main([*common, "--allow-other-clip", "--clip-device", "abacus"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--clip-device: CLIP cannot run on the device 'abacus'" in said
    assert "--clip-weights" not in said


def test_view_shows_the_score_of_each_page_and_the_reason_for_a_zero(run_copy, capsys):
    main(["eval", "--tasks", "tasks.jsonl", "--agent", "blank", "--out", "blank"])
    capsys.readouterr()
    (rollout,) = read_rollouts(Path("out/rollouts.jsonl"))
    assert main(["view", "out", "--task", rollout.task_id]) == 0
    printed = capsys.readouterr().out
    assert "page: layout 0." in printed
    assert "official scoring: not scored; no cosine" in printed
    assert main(["view", "blank", "--task", rollout.task_id]) == 0
    assert "default scoring: 0; no page: there is no page" in capsys.readouterr().out


def test_an_unwritable_cache_is_reported_before_the_run_starts(here, capsys, monkeypatch):
    (here / "file").write_text("")
    monkeypatch.setenv("COLBENCH_CACHE", str(here / "file"))
    assert main(["eval", "--domain", "frontend", "--limit", "1", "--out", "out"]) == 2
    assert "set COLBENCH_CACHE to another folder" in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_error_without_a_browser_says_how_to_install_one(here, capsys, monkeypatch):
    monkeypatch.setenv("COLBENCH_BROWSER", str(here / "none"))
    assert main(["eval", "--domain", "frontend"]) == 2
    assert "playwright install chromium" in capsys.readouterr().err
