"""Memory of a verification for each dialogue, and its comparison with other bundles in parts."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import msgspec
import pytest
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.rollout import Rollout, encode_rollout
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.grid import Grid
from colbench_leaderboard.verify.judging import Judged, judge
from colbench_leaderboard.verify.receipt import CellScore
from colbench_leaderboard.verify.tally import Tally
from colbench_leaderboard.verify.transcripts import Transcripts

TRIALS = 100
BYTES = 700
"""Kept of a dialogue at most; its transcript alone takes several thousand."""


@pytest.fixture
def judged(bundle_of, tasks) -> list[Judged]:
    """Return the results of judging six dialogues, some of which leave decisions untold."""
    by_id = {task.id: task for task in tasks}
    with read_bundle(bundle_of("demonstrator", "--agent", "demonstrator")) as bundle:
        cells = [(cell, by_id[cell.rollout.task_id], True) for cell in bundle.cells()]

    async def judge_all() -> list[Judged]:
        async with judge(RunConfig(), tasks, "backend", keyless=True) as judges:
            return [each async for each in judges.judged(cells)]

    return asyncio.run(judge_all())


def again(judged: Judged, trial: int) -> Judged:
    """Return a result as if its dialogue were another trial, read from its own file."""
    moved = encode_rollout(replace(judged.cell.rollout, trial=trial))
    cell = judged.cell._replace(rollout=msgspec.json.decode(moved, type=Rollout))
    found = msgspec.json.encode(replace(judged.score, trial=trial))
    return replace(judged, cell=cell, score=msgspec.json.decode(found, type=CellScore))


@pytest.mark.weekly
def test_little_is_kept_of_a_dialogue(judged, tasks):
    def fed(trials):
        grid, findings, transcripts = Grid(tasks, trials, 0), Findings(), Transcripts("own")
        tally = Tally(findings)
        for trial in range(trials):
            for each in judged:
                found = again(each, trial)
                grid.task(found.cell, findings)
                transcripts.add(found.cell.rollout)
                tally.add(found)
        return grid, findings, transcripts, tally

    fed(1)  # objects created once
    gc.collect()
    tracemalloc.start()
    kept = fed(TRIALS)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept[-1].scores) == kept[2].count == 6 * TRIALS
    assert taken / (6 * TRIALS) < BYTES


def test_others_that_are_read_again_for_every_part_are_shared_alike(interviewer, bundle_of):
    """Twelve dialogues, half of which are in the other bundle as well."""
    both = bundle_of("twice", "--agent", "interviewer", "--trials", "2")
    messages = []
    for held in (1, 2_000, 5_000, 100_000):
        findings = Findings()
        with read_bundle(both) as bundle:
            transcripts = Transcripts(bundle.digest, [interviewer, both], held=held)
            for cell in bundle.cells():
                transcripts.add(cell.rollout)
            transcripts.report_shared(findings)
        messages.append([found.message for found in findings.all()])
    assert messages == [messages[-1]] * 4
    assert "12 of 12 dialogues" in messages[0][0]


def test_long_transcripts_are_discarded_when_they_have_enough_characters(interviewer):
    with read_bundle(interviewer) as bundle:
        (first, *_) = bundle.cells()
    turn = replace(first.rollout.turns[0], said="one word after another " * 20_000)
    rollout = replace(first.rollout, turns=(turn,))
    transcripts = Transcripts("own", [interviewer], held=1_000_000)
    gc.collect()
    tracemalloc.start()
    for _ in range(30):
        transcripts.add(rollout)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert transcripts.count == 30
    assert taken < 50 * 1_000_000
