"""The statistics of a dialogue: they agree with the dialogue and take little memory."""

from __future__ import annotations

import gc
import tracemalloc

import msgspec
import pytest
from msgspec.structs import replace

import colbench
from colbench.asking.failure_class import failure_class
from colbench.registry import get_domain
from colbench.report.cells import measure, success, value
from colbench.report.dialogue_stats import NEVER, Measurer, agent_words, human_words
from colbench.rollout import Failure, Rollout, Turn, cell_key, encode_rollout
from colbench.score import Score

BYTES, PAGE_BYTES = 700, 1_600
"""Maximum bytes for a dialogue, and for one about pages. Its line in the file is ten times as long."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("stats") / "run"
    return colbench.evaluate(agent="demonstrator", limit=40, out=out)


def test_the_statistics_agree_with_the_rollout(run):
    measurer = Measurer()
    (domain,) = run.report.domains
    lead = colbench.registry.get_domain(domain).primary
    for place, (task, rollout) in enumerate(zip(run.tasks, run.rollouts, strict=True)):
        found = measurer.measure(rollout, place, task)
        for mode in ("default", "official", "none"):
            assert value(found, mode, lead) == value(rollout, mode, lead)
            assert success(found, mode) == success(rollout, mode)
            assert found.failure_class(mode) == failure_class(rollout, mode)
        assert (found.place, found.turns, found.ended_by) == (
            place,
            len(rollout.turns),
            rollout.ended_by,
        )
        assert (found.human_words, found.agent_words) == (
            human_words(rollout),
            agent_words(rollout),
        )
        assert found.asking == rollout.asking
        told = {
            name: min(n for n, turn in enumerate(rollout.turns) if name in (turn.told or ()))
            for name in {name for turn in rollout.turns for name in turn.told or ()}
        }
        assert found.told_at == tuple(told.get(name, NEVER) for name in found.hidden)
        assert len(found.hidden) == rollout.asking.hidden


def test_agent_failures_are_settled_and_endpoint_failures_are_not(run):
    failure = Failure(boundary="agent", reason="boom", kind="exception")
    crashed = replace(run.rollouts[0], failure=failure, answer=None, scores={})
    found = Measurer().measure(crashed, 0, run.tasks[0])
    assert found.agent_failed
    assert found.settled
    assert found.failure_class("default") == failure_class(crashed) == "crashed"
    lost = replace(crashed, failure=replace(failure, boundary="endpoint"))
    assert not Measurer().measure(lost, 0, run.tasks[0]).settled


def test_equal_values_of_different_types_are_not_merged(run):
    """Keep integers and floats separate: (0, 0, 0) and (0.0, 0.0, 0.0) are equal in Python, but not in a report."""
    rollout = run.rollouts[0]
    measurer = Measurer()
    first = measurer.measure(rollout, 0, run.tasks[0])
    again = measurer.measure(rollout, 1, run.tasks[0])
    assert first.scores is again.scores
    assert first.told_at is again.told_at
    assert all(type(share) is float for share in again.leak)
    assert all(type(turn) is int for turn in again.told_at)


def page_dialogue(number):
    """Return a dialogue as read from a file: ten pages, each with its own metrics, and final scores in both modes."""
    names = [metric.name for metric in get_domain("frontend").metrics]

    def score(turn):
        metrics = {name: 1 / (2 + number + turn + n) for n, name in enumerate(names)}
        floors = {"black": dict.fromkeys(names, 0.0)}
        return Score(
            scorer="pages", value=metrics["cosine"], success=None, metrics=metrics, floors=floors
        )

    turns = (Turn(raw="", said="", human="Larger.", score=score(turn)) for turn in range(10))
    fields = {"answer": "", "ended_by": "limit", "domain": "frontend", "request": ""}
    rollout = Rollout(
        key=f"{number}",
        task_id=f"t{number % 100}",
        task_hash="h",
        trial=number // 100,
        seed=number,
        turns=tuple(turns),
        scores={"default": score(10), "official": score(11)},
        seconds=number + 0.5,
        **fields,
    )
    return msgspec.json.decode(encode_rollout(rollout), type=Rollout)


@pytest.mark.weekly
def test_a_dialogue_about_pages_takes_less_than_two_kilobytes():
    measurer = Measurer()
    kept = [measurer.measure(page_dialogue(number), number) for number in range(100)]
    metrics = page_dialogue(7).scores["default"].metrics
    assert dict(kept[7].scores["default"].metrics) == metrics
    assert kept[7].scores["default"].metrics.get("none") is None
    gc.collect()
    tracemalloc.start()
    kept = [measurer.measure(page_dialogue(number), number) for number in range(1_000)]
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / len(kept) < PAGE_BYTES


@pytest.mark.weekly
def test_a_dialogue_takes_less_than_a_kilobyte(run):
    trials = 50
    digest = run.record.digest

    def dialogues():
        for trial in range(trials):
            for number, each in enumerate(run.rollouts):
                key = cell_key(each.task_id, each.task_hash, trial, digest)
                yield (
                    trial * len(run.rollouts) + number,
                    replace(each, trial=trial, key=key, seconds=each.seconds + trial),
                )

    measure(run.tasks, trials, dialogues())  # objects created once
    gc.collect()
    tracemalloc.start()
    kept = measure(run.tasks, trials, dialogues())
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    cells = kept.cells["backend"]
    assert len(cells.dialogues) == cells.planned == trials * 40
    assert taken / cells.planned < BYTES
