"""The report of a large run: its dialogues are on separate pages."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace

import colbench
from colbench.report.cells import measure
from colbench.report.page import PART, render_pages
from colbench.rollout import encode_rollout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("large") / "run"
    return colbench.evaluate(agent="guesser", limit=3, out=out)


def written(run, large):
    measured = measure(run.tasks, run.config.trials, run.folder.latest(), run.config.shard)
    with run.folder.reader() as dialogues:
        pages = render_pages(run.report, run.record, measured.cells, dialogues, {}, large=large)
        return dict(pages)


def listed(page):
    (index,) = re.findall(r'class="index">(.*?)</script>', page, re.DOTALL)
    return [task["id"] for task in json.loads(index)["tasks"]]


def test_a_small_report_is_one_file(run):
    pages = written(run, large=3)
    assert list(pages) == ["report.html"]
    assert listed(pages["report.html"]) == [task.id for task in run.tasks]


def test_a_large_report_links_to_pages_that_have_its_tasks_in_order(run):
    trials = PART // 2
    config = replace(run.config, trials=trials)
    large = colbench.load_run(run.path)
    large.record = replace(run.record, config=config)
    pages = written(large, large=3 * trials - 1)
    assert list(pages) == ["report.html", "dialogues.html", "dialogues-2.html"]
    links = re.findall(r'<a href="(dialogues[^"]*)">([^<]*)<', pages["report.html"])
    ids = [task.id for task in run.tasks]
    assert links == [
        ("dialogues.html", f"{ids[0]} to {ids[1]}"),
        ("dialogues-2.html", f"{ids[2]} to {ids[2]}"),
    ]
    assert 'class="index"' not in pages["report.html"]
    assert listed(pages["dialogues.html"]) + listed(pages["dialogues-2.html"]) == ids
    assert '<a href="report.html">' in pages["dialogues-2.html"]


def test_stale_dialogue_pages_of_a_small_run_are_deleted(run):
    stale = run.path / "dialogues-7.html"
    stale.write_text("old")
    run.write_report()
    assert not stale.exists()
    assert (run.path / "report.html").exists()


def test_the_report_does_not_depend_on_the_order_of_rollout_lines(run):
    """Reverse the lines of `rollouts.jsonl` and add an outdated one; each page still finds its own dialogues."""
    lines = run.folder.rollouts_path.read_bytes().splitlines(keepends=True)
    before = run.write_report()
    page = (run.path / "report.html").read_bytes()
    retried = replace(run.rollouts[0], answer="another", scores={})
    run.folder.rollouts_path.write_bytes(encode_rollout(retried) + b"".join(lines[::-1]))
    assert colbench.load_run(run.path).write_report() == before
    assert (run.path / "report.html").read_bytes() == page
