"""Audits of finished dialogues, in the run's process or in a separate one."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

import colbench
from colbench.audits import InProcess, audited
from colbench.executors.audit_process import KNOWN, AuditProcess, Remembered
from colbench.executors.choice import WORTH, audits_apart
from colbench.rollout import Failure, read_rollouts, without_times

TASKS = "generated:backend/train?number=6&families=loyalty,hotel"


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory):
    """Return tasks by hash, and dialogues about them in the state before their audits."""
    folder = tmp_path_factory.mktemp("dialogues")
    run = colbench.evaluate(agent="demonstrator", tasks=TASKS, trials=2, out=folder)
    tasks = {task.hash: task for task in run.tasks}
    bare = [
        replace(
            each,
            turns=tuple(replace(turn, leak=None, asked=None, told=None) for turn in each.turns),
            asking=None,
        )
        for each in read_rollouts(folder / "rollouts.jsonl")
    ]
    return tasks, bare


def test_an_audit_adds_the_leaks_and_the_asking_to_a_dialogue(dialogues):
    tasks, bare = dialogues
    for each in bare:
        found = audited(tasks[each.task_hash], each)
        assert all((turn.leak is None) == (turn.human is None) for turn in found.turns)
        assert found.asking is not None
        assert audited(tasks[each.task_hash], found) == found
        assert asyncio.run(InProcess().audited(tasks[each.task_hash], each)) == found


def test_a_dialogue_whose_scoring_failed_has_leaks_but_no_asking(dialogues):
    tasks, (one, *_) = dialogues
    failed = replace(one, failure=Failure(boundary="scorer", reason="gone"), scores={})
    found = audited(tasks[one.task_hash], failed)
    assert found.turns[0].leak is not None
    assert (found.turns[0].asked, found.asking) == (None, None)


def test_the_audit_process_gives_the_same_results(dialogues):
    tasks, bare = dialogues

    async def all_of_them():
        async with AuditProcess() as auditor:
            found = (auditor.audited(tasks[each.task_hash], each) for each in bare)
            return await asyncio.gather(*found)

    assert asyncio.run(all_of_them()) == [audited(tasks[each.task_hash], each) for each in bare]


def test_dialogues_are_audited_even_if_the_audit_process_is_killed(dialogues, caplog):
    tasks, bare = dialogues

    async def with_a_kill():
        async with AuditProcess() as auditor:
            first = await auditor.audited(tasks[bare[0].task_hash], bare[0])
            os.kill(child_of(os.getpid(), "audit_process"), signal.SIGKILL)
            rest = (auditor.audited(tasks[each.task_hash], each) for each in bare[1:])
            return [first, *await asyncio.gather(*rest)]

    with caplog.at_level(logging.WARNING):
        found = asyncio.run(with_a_kill())
    assert found == [audited(tasks[each.task_hash], each) for each in bare]
    assert "the audit process ended" in caplog.text


def test_dialogues_are_audited_even_if_the_audit_process_cannot_start(
    dialogues, caplog, monkeypatch
):
    tasks, (one, *_) = dialogues
    monkeypatch.setenv("TOO_LONG_FOR_A_PROGRAM", "x" * 200_000)

    async def without_a_process():
        async with AuditProcess() as auditor:
            return await auditor.audited(tasks[one.task_hash], one)

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(without_a_process()) == audited(tasks[one.task_hash], one)
    assert "the audit process cannot be started: Argument list too long; the run's" in caplog.text


def child_of(parent, name):
    """Return the id of a process's child whose command line contains a name."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = (each for each in children if name in Path(f"/proc/{each}/cmdline").read_text())
    return int(found)


def test_the_least_recently_used_task_is_forgotten_first():
    tasks = colbench.load_tasks("bundled:backend", limit=KNOWN + 1)
    remembered = Remembered()
    for task in tasks[:KNOWN]:
        remembered.add(task)
    assert remembered.get(tasks[0].hash) == tasks[0]
    remembered.add(tasks[KNOWN])
    assert remembered.get(tasks[1].hash) is None
    assert remembered.get(tasks[0].hash) == tasks[0]


def test_both_processes_forget_the_same_tasks(dialogues, caplog):
    _, (one, *_) = dialogues
    tasks = colbench.load_tasks("bundled:backend", limit=KNOWN + 1)
    order = [*tasks[:KNOWN], tasks[0], tasks[KNOWN], tasks[1], tasks[0]]
    quick = replace(one, turns=(), failure=Failure(boundary="scorer", reason="gone"), scores={})

    async def one_after_another():
        async with AuditProcess() as auditor:
            for task in order:
                await auditor.audited(task, replace(quick, task_hash=task.hash))

    asyncio.run(one_after_another())
    assert caplog.text == ""


@pytest.mark.skipif(not audits_apart(WORTH), reason="needs Linux and more than one core")
def test_runs_with_many_and_with_few_dialogues_have_the_same_rollouts(tmp_path):
    source = f"generated:backend/train?number={WORTH // 2}&families=loyalty"
    options = {"agent": "interviewer", "tasks": source}
    colbench.evaluate(**options, trials=1, out=tmp_path / "few")
    colbench.evaluate(**options, trials=2, out=tmp_path / "many")
    few, many = (
        {
            each.key: without_times(each)
            for each in read_rollouts(tmp_path / name / "rollouts.jsonl")
        }
        for name in ("few", "many")
    )
    assert len(many) == WORTH
    assert few.items() <= many.items()


def test_a_separate_audit_process_needs_many_dialogues_several_cores_and_linux():
    assert not audits_apart(WORTH - 1)
    assert audits_apart(WORTH) == (len(os.sched_getaffinity(0)) > 1 and sys.platform == "linux")
