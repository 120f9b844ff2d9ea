"""Memory per verified dialogue, and the comparison with other bundles in parts."""

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
"""Maximum memory that is kept per dialogue. Its transcript alone takes several thousand bytes."""


@pytest.fixture
def judged(bundle_of, tasks) -> list[Judged]:
    """Return the results of judging six dialogues, some of which leave decisions undisclosed."""
    by_id = {task.id: task for task in tasks}
    with read_bundle(bundle_of("demonstrator", "--agent", "demonstrator")) as bundle:
        cells = [(cell, by_id[cell.rollout.task_id], True) for cell in bundle.cells()]

    async def judge_all() -> list[Judged]:
        async with judge(RunConfig(), tasks, "backend", keyless=True) as judges:
            return [each async for each in judges.judged(cells)]

    return asyncio.run(judge_all())


def again(judged: Judged, trial: int) -> Judged:
    """Return the result as if its dialogue were another trial that was read from its own file."""
    moved = encode_rollout(replace(judged.cell.rollout, trial=trial))
    cell = judged.cell._replace(rollout=msgspec.json.decode(moved, type=Rollout))
    found = msgspec.json.encode(replace(judged.score, trial=trial))
    return replace(judged, cell=cell, score=msgspec.json.decode(found, type=CellScore))


@pytest.mark.weekly
def test_memory_per_verified_dialogue_is_small(judged, tasks):
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


def test_shared_transcripts_are_found_regardless_of_how_many_fit_in_memory(interviewer, bundle_of):
    """Compare twelve dialogues, of which only the first trials are like those of the other bundle."""
    both = bundle_of("twice", "--agent", "interviewer", "--trials", "2")
    messages = []
    for held in (1, 2_000, 5_000, 100_000):
        findings = Findings()
        with read_bundle(both) as bundle:
            transcripts = Transcripts(bundle.digest, [interviewer, both], held=held)
            for cell in bundle.cells():
                transcripts.add(
                    in_other_words(cell.rollout) if cell.rollout.trial else cell.rollout
                )
            transcripts.report_shared(findings)
        messages.append([found.message for found in findings.all()])
    assert messages == [messages[-1]] * 4
    (message,) = messages[0]
    assert message.startswith("6 of 12 dialogues")
    assert "those of interviewer, 6 of them word for word" in message


def in_other_words(rollout: Rollout) -> Rollout:
    turns = tuple(replace(turn, said="nothing of the sort " * 10) for turn in rollout.turns)
    return replace(rollout, turns=turns, answer="def other(): return 1")


def test_long_transcripts_do_not_accumulate_in_memory(interviewer):
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
