"""The draft of a bundle: the parts of a run to publish. `draft` also checks whether the run can be published."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from colbench.cells import plan
from colbench.config import digest
from colbench.errors import UserError
from colbench.flags import command_flags
from colbench.redaction import public_spec
from colbench.rollout import Rollout, cell_key
from colbench.rollout_file import StoredRollouts
from colbench.run_folder import RunFolder, RunRecord
from colbench.selection import recorded_tasks
from colbench.task import Task
from colbench_leaderboard.bundle.lock_rules import model_name, size_flaws, text_flaws, uses_model
from colbench_leaderboard.bundle.redaction import PublicRecord, names_home, public_record
from colbench_leaderboard.bundle.schema import Lock, LockedTasks, Submission
from colbench_leaderboard.bundle.submission import MODEL_TABLE, template
from colbench_leaderboard.bundle.tracks import departures

NAMED = 5
"""Maximum number of missing dialogues that an error names."""


class Draft(NamedTuple):
    """The contents of a bundle, and what `pack` tells the user: omitted parts of the run, and numbers for warnings."""

    submission: Submission
    lock: Lock
    rollouts: Sequence[Rollout]
    """Rollouts, sorted by task and trial; each is read from the run's folder on access."""
    left_out: tuple[str, ...]
    """Names of settings that are not published, or are published only in part."""
    outside: int
    """Number of dialogues in the folder that are outside the tasks and trials of the run; they are not published."""
    homes: int
    """Number of dialogues that contain the path of the user's home folder."""


def draft(run: Path, submission: Submission, *, meta: str = "submission.toml") -> Draft:
    """Return the draft of a run's bundle.

    `run`: the run's folder. `meta`: the name of the submission's file, for messages.

    Raises DataError if the folder is not a run or the tasks have changed since the run. Raises UserError if the tasks
    belong to several domains. Raises UserError, with all reasons, if the run mixes configurations, has an edited
    `run.json`, has missing or unfinished dialogues, was made with `told="all"`, breaks a rule of its track or of
    `lock_rules`, or uses a model although the submission names no model.
    """
    folder = RunFolder(run)
    record = folder.record()
    tasks = recorded_tasks(folder, record)
    held = _read(folder, record)
    public = public_record(record)
    lock = _lock(record, public, _domain(tasks))
    flaws = [*_mixed(record, held), *_unfinished(record, run, tasks, held)]
    if record.config.told != "asked":
        flaws.append(
            "the human revealed all decisions in the first message (--told all); run again without this flag"
        )
    if submission.track == "standard" and (reasons := departures(lock)):
        listed = "".join(f"\n    {reason}" for reason in reasons)
        flaws.append(
            f'in {meta}, set `track = "open"`; the run does not qualify for the track "standard":{listed}'
        )
    if uses_model(lock) and not submission.models:
        flaws.append(_unnamed_model(record.config.agent, meta))
    flaws += [f"run.json: {flaw}" for flaw in (*size_flaws(record.config), *text_flaws(lock))]
    if flaws:
        raise UserError(
            "\n".join([f"{run} cannot be submitted:", *(f"  {flaw}" for flaw in flaws)])
        )
    keys = list(_keys(tasks, record))
    return Draft(
        submission,
        lock,
        rollouts=StoredRollouts(folder.rollouts_path, [held.places[key] for key in keys]),
        left_out=public.left_out,
        outside=len(held.places) - len(keys),
        homes=len(held.homes.intersection(keys)),
    )


def run_template(run: Path) -> tuple[str, str]:
    """Return two texts: a submission.toml to fill in, with the run's track and model, and a note on missing dialogues.

    The note says how many dialogues are missing or unfinished, and shows the command that runs these dialogues. The
    note is "" if the run is complete.

    Raises DataError if the folder is not a run or the tasks have changed since the run, and UserError if the tasks
    belong to several domains.
    """
    folder = RunFolder(run)
    record = folder.record()
    tasks = recorded_tasks(folder, record)
    lock = _lock(record, public_record(record), _domain(tasks))
    missing = _unfinished(record, run, tasks, _read(folder, record))
    return template(departures(lock), model_name(lock)), "".join(missing)


def _keys(tasks: Sequence[Task], record: RunRecord) -> Iterator[str]:
    """Yield the keys of a run's dialogues, in the order of tasks and trials."""
    for task in sorted(tasks, key=lambda task: task.id):
        for trial in range(record.config.trials):
            yield cell_key(task.id, task.hash, trial, record.digest)


class _Held:
    """The dialogues in a run's folder.

    `places`: for each dialogue's key, the dialogue's byte offset in the file of rollouts. `unfinished`: keys of the
    unfinished dialogues. `foreign`: number of dialogues whose configuration differs from the run's.
    """

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.unfinished: set[str] = set()
        self.homes: set[str] = set()
        """Keys of the dialogues that contain the path of the user's home folder."""
        self.foreign = 0
        self.foreign_one = ""
        """Trial and task of one dialogue whose configuration differs from the run's; "" if all have the run's."""


def _read(folder: RunFolder, record: RunRecord) -> _Held:
    held = _Held()
    for place, rollout in folder.latest():
        held.places[rollout.key] = place
        if not rollout.settled:
            held.unfinished.add(rollout.key)
        if names_home(rollout):
            held.homes.add(rollout.key)
        if rollout.key != _key(rollout, record.digest):
            held.foreign += 1
            held.foreign_one = f"trial {rollout.trial} of {rollout.task_id}"
    return held


def _lock(record: RunRecord, public: PublicRecord, domain: str) -> Lock:
    return Lock(
        colbench=record.colbench,
        commit=record.commit,
        python=record.python,
        started=record.started,
        config=public.config,
        pins=public.pins,
        digest=public.digest,
        sandbox=public.sandbox,
        environment=public.environment,
        tasks=LockedTasks(
            source=public_spec(record.tasks.source),
            count=record.tasks.count,
            hash=record.tasks.hash,
            domain=domain,
            trials=record.config.trials,
        ),
    )


def _domain(tasks: Sequence[Task]) -> str:
    domains = sorted({task.domain for task in tasks})
    if len(domains) > 1:
        raise UserError(
            f"the run has tasks of {' and '.join(domains)}, but an entry is for one domain; run "
            f"again with --domain {domains[0]}"
        )
    return domains[0]


def _mixed(record: RunRecord, held: _Held) -> list[str]:
    """Return a description of each way in which the folder's contents contradict each other."""
    flaws = []
    if digest(record.pins) != record.digest:
        flaws.append("run.json: its digest does not match its pins; the file was edited by hand")
    if changed := _changed(record):
        flaws.append(f"run.json: `config` and `pins` disagree on {', '.join(changed)}")
    if held.foreign:
        flaws.append(
            f"rollouts.jsonl: dialogues whose configuration differs from that in run.json: {held.foreign}, such "
            f"as {held.foreign_one}; keep one configuration per folder"
        )
    return flaws


def _unnamed_model(agent: str, meta: str) -> str:
    table = "".join(f"\n    {line}" for line in MODEL_TABLE)
    return (
        f"its agent {agent} uses a model, but {meta} names none; replace the line `models = []` with a table for each "
        f"model, at the end of the file:{table}"
    )


def _changed(record: RunRecord) -> list[str]:
    files = {"agent_prompt", "human_prompt"}  # pinned by content; the files may no longer exist
    stated = replace(record.config, agent_prompt=None, human_prompt=None).pins()
    stated = msgspec.json.decode(msgspec.json.encode(stated))  # in the form in which pins are read
    pinned = record.pins.get("config", {})
    return sorted(name for name in stated.keys() - files if stated[name] != pinned.get(name))


def _key(rollout: Rollout, run: str) -> str:
    return cell_key(rollout.task_id, rollout.task_hash, rollout.trial, run)


def _unfinished(record: RunRecord, run: Path, tasks: Sequence[Task], held: _Held) -> list[str]:
    config = record.config
    cells = plan(tasks, config.trials, record.digest, config.seed)
    missing = [
        f"trial {cell.trial} of {cell.task.id}"
        for cell in cells
        if cell.key not in held.places or cell.key in held.unfinished
    ]
    if not missing:
        return []
    named = ", ".join(missing[:NAMED])
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    whole = replace(config, shard=None)
    command = shlex.join(["colbench", "eval", *command_flags(whole), "--out", str(run)])
    return [
        f"{len(missing)} of {len(tasks) * config.trials} dialogues are missing or unfinished: {named}{more}. "
        f"To run them:\n    {command}"
    ]
