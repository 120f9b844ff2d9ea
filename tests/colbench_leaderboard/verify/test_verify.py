"""Honest bundles are accepted with the numbers of the run, and receipts are reproducible."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from colbench.cli import main
from colbench.rollout import read_rollouts
from colbench.run_folder import RunFolder
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.pack import pack
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.cli.output import aligned

FILES = ("receipt.json", "scores.jsonl", "summary.json")


def lines(folder: Path, name: str):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def test_recomputed_scores_equal_those_of_the_run(interviewer, verify, workspace):
    receipt = verify(interviewer, code=0)
    assert receipt["level"] == "V2"
    assert receipt["findings"] == []
    assert receipt["scorer"] == "unit-tests/default/2"
    run = {r.task_id: r for r in read_rollouts(workspace / "runs/interviewer/rollouts.jsonl")}
    scores = lines(verify.folder / "verified", "scores.jsonl")
    assert [one["task_id"] for one in scores] == sorted(run)
    for one in scores:
        rollout = run[one["task_id"]]
        assert one["value"] == rollout.scores["default"].value
        assert one["official"] == rollout.scores["official"].value
        assert one["success"] == rollout.scores["default"].success
        assert one["turns"] == len(rollout.turns)
        assert one["human_words"] == sum(len((t.human or "").split()) for t in rollout.turns)
    replies = sum(turn.human is not None for r in run.values() for turn in r.turns)
    assert receipt["replayed"] == replies > 0


def test_the_summary_agrees_with_the_report_of_the_run(interviewer, verify, workspace):
    verify(interviewer, code=0)
    (summary,) = lines(verify.folder / "verified", "summary.json")
    report = json.loads((workspace / "runs/interviewer/report.json").read_text())
    domain = report["domains"]["backend"]
    assert summary["success"]["mean"] == domain["success_rate"]["mean"]
    assert summary["success"]["low"] == round(domain["success_rate"]["low"], 6)
    assert summary["turns"]["mean"] == round(domain["turns"]["mean"]["mean"], 6)
    assert summary["human_words"]["high"] == round(domain["words"]["human"]["high"], 6)
    by_turn = [one["success_rate"]["mean"] for one in domain["by_turn"]]
    assert summary["success_by_turn"][: len(by_turn)] == [round(share, 6) for share in by_turn]
    assert summary["undisclosed"] == 0.0


def test_a_guesser_is_not_flagged_despite_lucky_guesses(guesser, verify):
    assert verify.rules(guesser, code=0) == set()
    (summary,) = lines(verify.folder / "verified", "summary.json")
    assert 0 < summary["undisclosed"] < 0.5


def test_copies_and_archives_of_a_bundle_have_the_same_receipt(
    interviewer, verify, tmp_path, workspace
):
    verify(interviewer, code=0)
    first = {name: (tmp_path / "verified" / name).read_bytes() for name in FILES}
    copy = shutil.copytree(interviewer, tmp_path / "else/where")
    archive = tmp_path / "a.tar.gz"
    run = RunFolder(workspace / "runs/interviewer").path
    with read_bundle(interviewer) as bundle:
        pack(draft(run, bundle.submission), archive)
    for other in (copy, archive):
        out = tmp_path / f"out-{other.name}"
        tasks = ("--tasks", str(workspace / "tasks.jsonl"))
        assert (
            main(["verify", str(other), *tasks, "--out", str(out), "--sandbox-workers", "1"]) == 0
        )
        assert {name: (out / name).read_bytes() for name in FILES} == first


def test_dialogues_that_the_turn_limit_ended_are_accepted(bundle_of, verify):
    bundle = bundle_of("short", "--agent", "interviewer", "--max-turns", "2", "--trials", "2")
    assert verify(bundle, code=0)["findings"] == []
    (summary,) = lines(verify.folder / "verified", "summary.json")
    assert (summary["tasks"], summary["trials"]) == (6, 2)
    assert summary["turns"] == {"high": 2.0, "low": 2.0, "mean": 2.0}
    assert summary["answered"] == 0.0
    assert summary["pass_k"] == [0.0, 0.0]


def test_identical_trials_are_noted(bundle_of, verify):
    bundle = bundle_of("guesser-twice", "--agent", "guesser", "--trials", "2")
    (note,) = verify(bundle, code=0)["findings"]
    assert (note["rule"], note["severity"]) == ("audit.same-trials", "note")
    assert "in 6 tasks all 2 trials" in note["message"]


def test_an_agents_failure_scores_0_without_a_flag(bundle_of, workspace, verify):
    bundle = bundle_of("crashes", "--agent", f"{workspace / 'agents.py'}:Crashes", code=1)
    receipt = verify(bundle, code=0)
    assert receipt["findings"] == []
    scores = lines(verify.folder / "verified", "scores.jsonl")
    assert {(s["value"], s["success"], s["failure"], s["turns"]) for s in scores} == {
        (0.0, False, "agent", 1)
    }


def test_turns_words_and_tokens_are_counted_from_the_transcript(bundle_of, workspace, verify):
    bundle = bundle_of("counts", "--agent", f"{workspace / 'agents.py'}:Counts")
    verify(bundle, code=0)
    for score in lines(verify.folder / "verified", "scores.jsonl"):
        assert score["turns"] == 2
        assert score["agent_words"] == len("What is the rate?".split())
        assert score["agent_tokens"] == 5 + 3 + 20 + 2
        assert score["answered"]


def test_a_run_with_another_human_is_not_replayed_and_gets_v1(bundle_of, workspace, verify):
    parrot = f"{workspace / 'agents.py'}:Parrot"
    bundle = bundle_of("parrot", "--agent", "interviewer", "--human", parrot)
    receipt = verify(bundle, code=0)
    assert (receipt["level"], receipt["replayed"]) == ("V1", 0)
    assert "replay.model" in {one["rule"] for one in receipt["findings"]}


def test_replaying_a_share_of_the_dialogues_is_noted_in_the_receipt(interviewer, verify):
    receipt = verify(interviewer, "--replay", "0.5", code=0)
    (note,) = receipt["findings"]
    assert note["rule"] == "replay.sample"
    assert "in 3 of 6 dialogues" in note["message"]


def test_a_run_on_some_tasks_is_verified_on_those(bundle_of, verify):
    bundle = bundle_of("some", "--agent", "blank", "--limit", "2")
    receipt = verify(bundle, code=0)
    assert len(lines(verify.folder / "verified", "scores.jsonl")) == 2
    assert receipt["findings"] == []


def test_the_json_flag_prints_the_receipt_and_the_summary(interviewer, verify, capsys):
    verify(interviewer, "--json", code=0)
    said = json.loads(capsys.readouterr().out)
    assert said["receipt"]["level"] == "V2"
    assert said["summary"]["tasks"] == 6


def test_the_json_of_an_unreadable_bundle_has_a_refusal_and_no_receipt(
    interviewer, forge, verify, capsys
):
    bundle = forge(interviewer)
    (bundle / "lock.json").unlink()
    verify(bundle, "--json", code=1)
    said = json.loads(capsys.readouterr().out)
    assert said["receipt"] is None
    assert said["refusal"]["file"] == "lock.json"


def test_a_refusal_deletes_the_scores_of_an_earlier_verification(interviewer, forge, verify):
    verify(interviewer, code=0)
    verify(forge(interviewer, lambda rows: rows[0].update(answer="")), code=1)
    assert [path.name for path in (verify.folder / "verified").iterdir()] == ["receipt.json"]


def test_the_output_shows_the_verdict_the_numbers_and_the_meaning_of_the_level(
    interviewer, verify, capsys
):
    verify(interviewer, code=0)
    said = capsys.readouterr().out
    assert (
        "accepted: rescored, simulated human replayed (verification level V2 of V1 to V3)" in said
    )
    assert "success       100.0%" in said
    assert "verification cannot show who wrote the transcripts" in said


def test_a_value_that_all_tasks_share_is_shown_without_an_interval(guesser, verify, capsys):
    verify(guesser, code=0)
    assert re.search(r"turns +1\.00  \(no interval\)", capsys.readouterr().out)


def test_the_output_shows_the_first_findings_of_a_rule_and_counts_the_rest(
    interviewer, forge, verify, capsys
):
    def change(rows):
        for row in rows:
            row.update(answer="")

    found = verify(forge(interviewer, change), code=1)["findings"]
    assert [each["rule"] for each in found] == ["protocol.answer"] * 6
    said = capsys.readouterr().out
    assert said.count("refusal  protocol.answer") == 1
    assert said.count("trajectories/000.jsonl, line") == 3
    assert "         and 3 more in the receipt\n" in said


def test_numbers_are_aligned_even_next_to_a_long_name():
    first, second = aligned({"tasks": "12 x 1", "answers that a person accepts": "90.0%"})
    assert (
        first.index("12 x 1") == second.index("90.0%") == len("answers that a person accepts") + 2
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--replay", "2"), "--replay: expected a share from 0 to 1, got 2"),
        (("--replay", "nan"), "--replay: expected a share from 0 to 1, got nan"),
        (("--tasks", "nowhere.jsonl"), "--tasks nowhere.jsonl: neither a file"),
        (("--against", "nowhere"), "nowhere"),
    ],
)
def test_a_usage_error_is_reported_without_a_traceback(interviewer, verify, capsys, flags, said):
    verify(interviewer, *flags, code=2)
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_run_is_refused_with_the_command_that_makes_or_verifies_its_bundle(
    workspace, tmp_path, capsys
):
    run = shutil.copytree(workspace / "runs/interviewer", tmp_path / "run")
    shutil.rmtree(run / "bundle", ignore_errors=True)
    assert main(["verify", str(run)]) == 2
    fix = f"{run} is a run, not a bundle; first: colbench submit pack {run} --meta FILE"
    assert fix in capsys.readouterr().err
    (run / "bundle").mkdir()
    assert main(["verify", str(run)]) == 2
    assert f"verify its bundle: colbench verify {run}/bundle" in capsys.readouterr().err


def test_a_missing_bundle_is_reported(verify, tmp_path, capsys):
    verify(tmp_path / "nothing", code=2)
    assert "nothing" in capsys.readouterr().err


def test_tasks_that_are_not_bundled_must_be_named_by_the_receiver(interviewer, tmp_path, capsys):
    assert main(["verify", str(interviewer), "--out", str(tmp_path / "out")]) == 2
    assert "--tasks is missing: the bundle uses tasks.jsonl" in capsys.readouterr().err


def test_a_bundle_is_verified_only_against_the_receivers_tasks(
    interviewer, verify, workspace, tmp_path
):
    own = (workspace / "tasks.jsonl").read_text("utf-8").replace("return", "return  ", 1)
    (tmp_path / "own.jsonl").write_text(own, "utf-8")
    found = verify.rules(interviewer, "--tasks", str(tmp_path / "own.jsonl"), code=1)
    assert found == {"grid.task-hash", "lock.tasks"}


@pytest.mark.parametrize("inside", ["", "found"])
def test_a_receipt_is_not_written_into_the_bundle(inside, interviewer, capsys):
    before = sorted(interviewer.rglob("*"))
    assert main(["verify", str(interviewer), "--out", str(interviewer / inside)]) == 2
    assert "inside the bundle" in capsys.readouterr().err
    assert sorted(interviewer.rglob("*")) == before
