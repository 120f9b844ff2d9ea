"""Bundles of frontend design: pages are rendered again, and the human looks at them again."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench.plugins import resolve_tasks
from colbench.rollout import read_rollouts


@pytest.fixture
def pages(browser, tiny_clip, monkeypatch, cache, bundle_of):
    monkeypatch.setenv("COLBENCH_BROWSER", str(browser))
    monkeypatch.setenv("COLBENCH_CACHE", str(cache))
    source = ("--tasks", "bundled:frontend", "--limit", "2", "--max-turns", "2")
    clip = ("--clip-weights", str(tiny_clip), "--allow-other-clip")
    return bundle_of("pages", *source, "--agent", "designer", *clip), clip


def test_pages_are_scored_again_to_four_decimals_and_no_reply_can_be_made_up(
    pages, verify, forge, place
):
    bundle, clip = pages
    receipt = verify(bundle, "--tasks", "bundled:frontend", *clip, code=0)
    assert receipt["tier"] == "T2"
    assert receipt["replayed"] == 2
    run = {r.task_id: r for r in read_rollouts(place / "runs/pages/rollouts.jsonl")}
    scores = (verify.folder / "verified/scores.jsonl").read_text().splitlines()
    for score in map(json.loads, scores):
        rollout = run[score["task_id"]]
        assert score["value"] == round(rollout.scores["default"].value, 4)
        assert score["by_turn"] == [round(turn.score.value, 4) for turn in rollout.turns]

    def make_up(lines):
        lines[0]["turns"][0]["human"] = "That is what I have in mind."

    forged = forge(bundle, make_up)
    assert verify.rules(forged, "--tasks", "bundled:frontend", *clip, code=1) == {"replay.reply"}


def test_a_target_pasted_in_as_an_answer_is_flagged(pages, verify, forge):
    bundle, clip = pages
    targets = {task.id: task.hidden.reference for task in resolve_tasks("bundled:frontend")}

    def paste(lines):
        for line in lines:
            answer = f"```html\n{targets[line['task_id']].strip()}\n```"
            line["turns"] = [{"raw": f"I WANT TO ANSWER:\n{answer}", "said": ""}]
            line["answer"] = answer

    found = verify.rules(forge(bundle, paste), "--tasks", "bundled:frontend", *clip, code=0)
    assert found == {"audit.undisclosed", "audit.reference-copies"}


def test_without_clip_weights_nothing_is_said_about_a_bundle(pages, tmp_path, monkeypatch, capsys):
    bundle, _ = pages
    monkeypatch.setenv("HOME", str(tmp_path))
    out = tmp_path / "out"
    argv = ["verify", str(bundle), "--tasks", "bundled:frontend", "--out", str(out)]
    assert main(argv) == 2
    assert "--clip-weights: pages are verified by their cosine" in capsys.readouterr().err
    assert not out.exists()
