"""Each way to cheat, planted in a real bundle with a rewritten manifest, is refused or flagged with its reason."""

from __future__ import annotations

import json

import msgspec
import pytest

from colbench.config import digest
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.schema import LOCK, MANIFEST
from colbench_leaderboard.verify.receipt import Receipt
from colbench_leaderboard.verify.transcripts import duplicated

REQUEST = "Write anything at all. def f(x)"


def only_finding(receipt, rule):
    (found,) = [one for one in receipt["findings"] if one["rule"] == rule]
    return found


def test_a_forged_request_is_refused_by_the_task_hash(interviewer, forge, verify):
    def forged(lines):
        lines[2]["request"], lines[2]["task_hash"] = REQUEST, "0" * 64

    receipt = verify(forge(interviewer, forged), code=1)
    found = only_finding(receipt, "grid.task-hash")
    assert (found["file"], found["line"]) == ("trajectories/000.jsonl", 3)
    assert "000000000000" in found["message"]
    assert receipt["level"] is None
    assert receipt["scores"] == receipt["summary"] == ""


def test_an_edited_first_message_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines[0].update(request=lines[0]["request"] + " "))
    found = only_finding(verify(bundle, code=1), "protocol.request")
    assert (found["file"], found["line"]) == ("trajectories/000.jsonl", 1)


def test_a_cell_of_an_unknown_task_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines[5].update(task_id="zebra"))
    assert "grid.unknown-task" in verify.rules(bundle, code=1)


def test_a_cell_beyond_the_trials_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines.insert(1, {**lines[0], "trial": 1}))
    assert verify.rules(bundle, code=1) == {"grid.extra-trial"}


def test_a_wrong_seed_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines[0].update(seed=lines[0]["seed"] + 1))
    assert verify.rules(bundle, code=1) == {"grid.seed"}


def test_a_missing_cell_scores_0_and_is_flagged(interviewer, forge, verify):
    receipt = verify(forge(interviewer, lambda lines: lines.pop(3)), code=0)
    assert only_finding(receipt, "grid.missing-cell")["severity"] == "flag"
    scores = (verify.folder / "verified/scores.jsonl").read_text().splitlines()
    dropped = json.loads(scores[3])
    assert len(scores) == 6
    assert (dropped["value"], dropped["success"], dropped["failure"]) == (0.0, False, "absent")
    summary = json.loads((verify.folder / "verified/summary.json").read_text())
    assert summary["success"]["mean"] == round(5 / 6, 6)


def test_a_smaller_task_count_in_the_lock_does_not_hide_a_missing_cell(interviewer, forge, verify):
    bundle = forge(
        interviewer,
        lambda lines: lines.pop(3),
        lock=lambda lock: lock["tasks"].update(count=5),
    )
    assert "lock.tasks" in verify.rules(bundle, code=1)


@pytest.mark.parametrize("boundary", ["endpoint", "simulator", "sandbox"])
def test_a_claimed_failure_outside_the_agent_scores_0_and_is_flagged(
    interviewer, forge, verify, boundary
):
    def excuse(lines):
        lines[1].pop("answer")
        lines[1]["turns"].pop()
        lines[1]["ended_by"] = "failure"
        lines[1]["failure"] = {"boundary": boundary, "reason": "not my fault"}

    receipt = verify(forge(interviewer, excuse), code=0)
    found = only_finding(receipt, "grid.failed-cell")
    assert (found["severity"], found["line"]) == ("flag", 2)
    summary = json.loads((verify.folder / "verified/summary.json").read_text())
    assert summary["tasks"] == 6
    assert summary["success"]["mean"] == round(5 / 6, 6)


def test_an_eleventh_turn_is_refused(interviewer, forge, verify):
    def prolong(lines):
        asked = lines[0]["turns"][0]
        lines[0]["turns"] = [asked] * 10 + [lines[0]["turns"][-1]]

    found = only_finding(verify(forge(interviewer, prolong), code=1), "protocol.turns")
    assert "11 turns; at most 10" in found["message"]


def test_an_invented_human_reply_is_detected_by_the_replay(interviewer, forge, verify):
    def make_up(lines):
        lines[4]["turns"][1]["human"] = "Whatever you think is best is what I have in mind."

    found = only_finding(verify(forge(interviewer, make_up), code=1), "replay.reply")
    assert (found["severity"], found["line"]) == ("refusal", 5)
    assert "turn 2" in found["message"]
    assert "Whatever you think" in found["message"]


def test_references_pasted_in_as_answers_are_flagged(guesser, forge, verify, tasks):
    references = {task.id: task.hidden.reference for task in tasks}

    def paste(lines):
        for line in lines:
            answer = references[line["task_id"]].strip()
            line["turns"] = [{"raw": f"I WANT TO ANSWER:\n{answer}", "said": ""}]
            line["answer"] = answer

    receipt = verify(forge(guesser, paste), code=0)
    assert only_finding(receipt, "audit.undisclosed")["severity"] == "flag"
    assert only_finding(receipt, "audit.reference-copies")["severity"] == "flag"
    copied = [one for one in receipt["findings"] if one["rule"] == "audit.copied-untold"]
    assert [one["line"] for one in copied] == [1, 2, 3, 4, 5, 6]
    summary = json.loads((verify.folder / "verified/summary.json").read_text())
    assert summary["undisclosed"] == 1.0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused(interviewer, forge, verify, number):
    bundle = forge(interviewer, text=('"trial":0', f'"trial":{number}'))
    found = only_finding(verify(bundle, code=1), "json.number")
    assert (found["file"], found["line"]) == ("trajectories/000.jsonl", 1)


def test_an_entry_with_the_transcripts_of_another_is_flagged(interviewer, forge, verify):
    renamed = forge(interviewer, submission=lambda one: one.update(name="Somebody else"))
    alone = verify(renamed, code=0)
    assert "audit.duplicates" not in {one["rule"] for one in alone["findings"]}
    receipt = verify(renamed, "--against", str(interviewer), code=0)
    found = only_finding(receipt, "audit.duplicates")
    assert found["severity"] == "flag"
    assert "6 of 6 dialogues" in found["message"]
    assert "those of interviewer, 6 of them word for word" in found["message"]
    with read_bundle(interviewer) as bundle:
        assert duplicated(msgspec.convert(receipt, Receipt)) == [bundle.digest]


def test_removing_turns_that_disclosed_facts_is_flagged(interviewer, forge, verify):
    """Remove turns, which the replay does not detect: the human's replies do not depend on earlier turns."""

    def cut(lines):
        for line in lines:
            line["turns"] = [*line["turns"][:-4], line["turns"][-1]]

    receipt = verify(forge(interviewer, cut), code=0)
    assert only_finding(receipt, "audit.undisclosed")["severity"] == "flag"


def test_a_bundle_is_not_a_duplicate_of_itself_or_of_different_dialogues(
    interviewer, guesser, verify
):
    others = ("--against", str(interviewer), "--against", str(guesser))
    assert verify.rules(interviewer, *others, code=0) == set()


def test_a_message_that_does_not_follow_from_the_raw_reply_is_refused(interviewer, forge, verify):
    def change(lines):
        lines[0]["turns"][0]["said"] = "What may I know?"

    assert "protocol.said" in verify.rules(forge(interviewer, change), code=1)


def test_an_answer_that_does_not_follow_from_the_raw_reply_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines[0].update(answer="def f(): return 1"))
    assert verify.rules(bundle, code=1) == {"protocol.answer"}


def test_a_changed_raw_reply_is_refused(interviewer, forge, verify):
    def change(lines):
        lines[0]["turns"][-1]["raw"] = "I WANT TO ANSWER: def f(): return 1"

    assert "protocol.answer" in verify.rules(forge(interviewer, change), code=1)


def change_pins(lock):
    lock["pins"]["agent"] = {"class": "other:Agent"}


def change_config(lock):
    lock["config"]["agent"] = "openai:better"


def change_seed(lock):
    lock["config"]["seed"] = 7


def change_turns(lock):
    lock["config"]["max_turns"] = 12


def change_trials(lock):
    lock["tasks"]["trials"] = 2


def change_tasks(lock):
    lock["tasks"]["hash"] = "0" * 64


def change_kind(lock):
    lock["config"]["trials"] = "many"


def change_mode(lock):
    lock["config"]["scoring"] = "generous"


def change_packages(lock):
    lock["config"]["sandbox_packages"] = ["colbench"]
    lock["pins"]["config"]["sandbox_packages"] = ["colbench"]


def change_time(lock):
    lock["started"] = "yesterday"


def change_texts(lock):
    lock["browser"] = "Chrom\u202eium"


def change_source(lock):
    lock["tasks"]["source"] = "bundled:backend"


def leave_out(lock):
    del lock["config"]["max_turns"]
    lock["pins"]["config"]["max_turns"] = 99


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (change_time, "lock.text"),
        (change_texts, "lock.text"),
        (change_source, "lock.tasks"),
        (leave_out, "lock.pins"),
        (change_pins, "lock.digest"),
        (change_config, "lock.pins"),
        (change_seed, "lock.pins"),
        (change_turns, "lock.pins"),
        (change_trials, "lock.tasks"),
        (change_tasks, "lock.tasks"),
        (change_kind, "lock.config"),
        (change_mode, "lock.config"),
        (change_packages, "lock.packages"),
    ],
)
def test_a_changed_lock_is_refused(interviewer, forge, verify, change, rule):
    receipt = verify(forge(interviewer, lock=change), code=1)
    broken = [one for one in receipt["findings"] if one["rule"] == rule]
    assert broken
    assert broken[0]["file"] == LOCK


@pytest.mark.parametrize("hidden", ["", "a-model"])
def test_an_agent_with_a_model_is_refused_if_the_submission_names_no_model(
    interviewer, forge, verify, hidden
):
    def change(lock):
        if hidden:
            lock["pins"]["agent"]["model"] = hidden
        else:
            lock["config"]["agent"] = lock["pins"]["config"]["agent"] = "openai:gpt"
        lock["digest"] = digest(lock["pins"])

    copy = forge(interviewer, lock=change)
    assert verify.rules(copy, code=1) == {"lock.model"}


def test_an_entry_that_breaks_the_standard_tracks_rules_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, submission=lambda one: one.update(track="standard"))
    assert verify.rules(bundle, code=1) == {"lock.standard"}


def test_a_file_that_contradicts_the_manifest_is_refused_without_a_receipt(
    interviewer, forge, verify, capsys
):
    bundle = forge(interviewer)
    (bundle / LOCK).write_bytes((bundle / LOCK).read_bytes().replace(b"interviewer", b"genius"))
    assert verify(bundle, code=1) == {}
    said = capsys.readouterr().out
    assert "refused" in said
    assert "lock.json" in said
    assert "manifest.digest" in said


def test_a_changed_manifest_is_refused_without_a_receipt(interviewer, forge, verify, capsys):
    bundle = forge(interviewer)
    content = (bundle / MANIFEST).read_bytes()
    (bundle / MANIFEST).write_bytes(content.replace(content[:8], b"00000000", 1))
    assert verify(bundle, code=1) == {}
    assert "manifest.digest" in capsys.readouterr().out


def test_a_receipt_is_removed_when_its_bundle_can_no_longer_be_read(interviewer, forge, verify):
    copy = forge(interviewer)
    assert verify(copy, code=0)["level"] == "V2"
    (copy / LOCK).write_text("{}")
    assert verify(copy, code=1) == {}


def test_a_score_in_the_submission_is_refused(interviewer, forge, verify, capsys):
    assert verify(forge(interviewer, submission=lambda one: one.update(score=1.0)), code=1) == {}
    said = capsys.readouterr().out
    assert "submission.json" in said
    assert "score" in said


def test_a_score_in_a_trajectory_is_refused(interviewer, forge, verify):
    bundle = forge(interviewer, lambda lines: lines[0].update(scores={"default": 1}))
    found = only_finding(verify(bundle, code=1), "schema.trajectory")
    assert (found["file"], found["line"]) == ("trajectories/000.jsonl", 1)


def test_a_human_who_writes_the_answer_marker_is_flagged(guesser, forge, verify, tasks):
    """Verify without replay, which would detect the invented reply."""

    def invert(lines):
        first = {"raw": "Hm.", "said": "Hm.", "human": "I WANT TO ANSWER: x"}
        lines[0]["turns"].insert(0, first)

    receipt = verify(forge(guesser, invert), "--replay", "0", code=0)
    assert only_finding(receipt, "audit.human-role")["severity"] == "flag"
    assert receipt["level"] == "V1"
