"""What of a run is sent, and whether it may be: looked at before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from colbench.config import digest
from colbench.errors import UserError
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder, RunRecord
from colbench.runner import Cell, plan
from colbench.selection import recorded_tasks
from colbench.task import Task
from colbench_leaderboard.bundle import Lock, LockedTasks, Submission
from colbench_leaderboard.private import Public, public, public_spec
from colbench_leaderboard.resume import resume_command
from colbench_leaderboard.tracks import departures

NAMED = 5
"""Cells that a refusal names."""


class Parcel(NamedTuple):
    """Everything that is sent, and what is not."""

    submission: Submission
    lock: Lock
    rollouts: tuple[Rollout, ...]
    """By task and trial."""
    left_out: tuple[str, ...]
    """Names of configuration that is not sent, or only in part."""
    beside: int
    """Rollouts of the folder that are not in the run's grid, and not sent."""


def parcel(run: Path, submission: Submission) -> Parcel:
    """What of a run's folder is sent.

    Raises UserError with every reason why it cannot be: mixed configurations, an unfinished grid, a run that is not
    for the track.
    """
    folder = RunFolder(run)
    record = folder.record()
    tasks = recorded_tasks(folder, record)
    by_key = {rollout.key: rollout for rollout in folder.rollouts()}
    cells = plan(tasks, record.config.trials, record.digest, record.config.seed)
    sent = public(record)
    lock = _lock(record, sent, _domain(tasks))
    flaws = [*_mixed(record, by_key.values()), *_unfinished(record, run, cells, by_key)]
    if submission.track == "standard" and (reasons := departures(lock)):
        said = "".join(f"\n    {reason}" for reason in reasons)
        flaws.append(
            f'it is not for the track "standard", but for "open" (`track` says which):{said}'
        )
    if flaws:
        raise UserError("\n".join([f"{run} cannot be sent in:", *(f"  {flaw}" for flaw in flaws)]))
    chosen = sorted((by_key[cell.key] for cell in cells), key=lambda one: (one.task_id, one.trial))
    beside = len(by_key) - len(chosen)
    return Parcel(submission, lock, tuple(chosen), sent.left_out, beside)


def _lock(record: RunRecord, sent: Public, domain: str) -> Lock:
    return Lock(
        colbench=record.colbench,
        commit=record.commit,
        python=record.python,
        started=record.started,
        config=sent.config,
        pins=sent.pins,
        digest=sent.digest,
        sandbox=sent.sandbox,
        browser=sent.browser,
        tasks=LockedTasks(
            source=public_spec(record.tasks.source),
            count=record.tasks.count,
            hash=record.tasks.hash,
            domain=domain,
            trials=record.config.trials,
        ),
    )


def _domain(tasks: Sequence[Task]) -> str:
    domains = {task.domain for task in tasks}
    if len(domains) > 1:
        raise UserError(
            "the run has tasks of both domains, and an entry is for one; run again with --domain backend"
        )
    return domains.pop()


def _mixed(record: RunRecord, rollouts: Iterable[Rollout]) -> list[str]:
    """Where the folder holds more than the one configuration that `run.json` tells of."""
    flaws = []
    if digest(record.pins) != record.digest:
        flaws.append("run.json: its digest is not that of its pins; it was changed by hand")
    if changed := _changed(record):
        flaws.append(f"run.json: `config` and `pins` do not agree on {', '.join(changed)}")
    others = [one for one in rollouts if one.key != _key(one, record.digest)]
    if others:
        first = others[0]
        flaws.append(
            f"rollouts.jsonl: {len(others)} of another configuration than run.json's, such as trial {first.trial} of "
            f"{first.task_id}; keep one configuration in a folder"
        )
    return flaws


def _changed(record: RunRecord) -> list[str]:
    files = {"agent_prompt", "human_prompt"}  # pinned by their content, and may be gone
    stated = replace(record.config, agent_prompt=None, human_prompt=None).pins()
    stated = msgspec.json.decode(msgspec.json.encode(stated))  # as they are read back
    pinned = record.pins.get("config", {})
    return sorted(name for name in stated.keys() - files if stated[name] != pinned.get(name))


def _key(rollout: Rollout, run: str) -> str:
    return digest([rollout.task_id, rollout.task_hash, rollout.trial, run])


def _unfinished(
    record: RunRecord, run: Path, cells: Sequence[Cell], by_key: Mapping[str, Rollout]
) -> list[str]:
    owed = [cell for cell in cells if not (cell.key in by_key and by_key[cell.key].settled)]
    if not owed:
        return []
    named = ", ".join(f"trial {cell.trial} of {cell.task.id}" for cell in owed[:NAMED])
    more = f" and {len(owed) - NAMED} more" if len(owed) > NAMED else ""
    command = resume_command(record.config, run)
    return [
        f"{len(owed)} of {len(cells)} dialogues are owed: {named}{more}. This goes on with them:\n    {command}"
    ]
