"""Bundles of frontend design: pages are rendered again, and the human's replies are replayed."""

from __future__ import annotations

import io
import json
import re

import pytest
from PIL import Image

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


@pytest.fixture
def receiver(pages, tmp_path, monkeypatch):
    """Return an empty store of renders, so that every page has to be rendered again."""
    folder = tmp_path / "receiver"
    monkeypatch.setenv("COLBENCH_CACHE", str(folder))
    return folder


@pytest.mark.slow
def test_pages_are_rendered_and_scored_again_and_shown_on_the_site(
    pages, receiver, verify, forge, workspace, tmp_path
):
    bundle, clip = pages
    bundle = forge(bundle, lock=lambda lock: lock.update(browser="Another browser 1.0"))
    receipt = verify(bundle, "--tasks", "bundled:frontend", *clip, code=0)
    assert receipt["level"] == "V2"
    assert receipt["replayed"] == 2
    assert list(receiver.glob("renders/*.png"))
    run = {r.task_id: r for r in read_rollouts(workspace / "runs/pages/rollouts.jsonl")}
    verified = verify.folder / "verified"
    for score in map(json.loads, (verified / "scores.jsonl").read_text().splitlines()):
        rollout = run[score["task_id"]]
        assert score["value"] == round(rollout.scores["default"].value, 4)
        assert score["by_turn"] == [round(turn.score.value, 4) for turn in rollout.turns]

    store, site = str(tmp_path / "store"), tmp_path / "site"
    assert main(["leaderboard", "init", store]) == 0
    assert main(["leaderboard", "accept", store, str(bundle), "--verified", str(verified)]) == 0
    assert main(["leaderboard", "build", store, "--out", str(site)]) == 0
    (page,) = site.glob("entries/*/dialogues-001.html")
    for dialogue in page.read_text().split("<article")[1:]:
        shots = re.findall(r'<h3>(\w+)</h3></figcaption><img src="([^"]+)"', dialogue)
        assert [name for name, _ in shots] == ["Target", "Render", "Difference"]
        pictures = [(page.parent / address).read_bytes() for _, address in shots]
        assert len(set(pictures)) == 3
        assert {Image.open(io.BytesIO(each)).width for each in pictures} == {640}
    command = next(site.glob("entries/*/index.html")).read_text()
    assert "--clip-weights YOUR_WEIGHTS --allow-other-clip" in command


@pytest.mark.slow
def test_an_invented_reply_about_a_page_is_refused(pages, verify, forge):
    bundle, clip = pages

    def make_up(lines):
        lines[0]["turns"][0]["human"] = "That is what I have in mind."

    forged = forge(bundle, make_up)
    assert verify.rules(forged, "--tasks", "bundled:frontend", *clip, code=1) == {"replay.reply"}


@pytest.mark.slow
def test_targets_pasted_as_answers_are_flagged(pages, verify, forge):
    bundle, clip = pages
    targets = {task.id: task.hidden.reference for task in resolve_tasks("bundled:frontend")}

    def paste(lines):
        for line in lines:
            answer = f"```html\n{targets[line['task_id']].strip()}\n```"
            line["turns"] = [{"raw": f"I WANT TO ANSWER:\n{answer}", "said": ""}]
            line["answer"] = answer

    found = verify.rules(forge(bundle, paste), "--tasks", "bundled:frontend", *clip, code=0)
    assert found == {"audit.undisclosed", "audit.reference-copies"}


def test_a_frontend_bundle_is_not_verified_without_clip_weights(
    pages, tmp_path, monkeypatch, capsys
):
    bundle, _ = pages
    monkeypatch.setenv("HOME", str(tmp_path))
    out = tmp_path / "out"
    argv = ["verify", str(bundle), "--tasks", "bundled:frontend", "--out", str(out)]
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert (
        "frontend: answers are verified by the cosine, which cannot be computed on this machine"
        in error
    )
    assert "--clip-weights" in error
    assert not out.exists()
