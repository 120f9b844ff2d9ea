"""Run folders of the harness: their dialogues as trajectories.

Tasks and the agent's system prompt are loaded again from their sources, and checked against the hashes that the run
recorded. Only tasks that were given as objects are read from the run folder. If the tasks or the prompt cannot be
found, the user must provide them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import DataError, UserError
from colbench.messages import Sampled
from colbench.registry import get_domain
from colbench.rollout import Rollout, iter_rollouts
from colbench.run_folder import RunFolder, RunRecord
from colbench.selection import load_tasks, source_of
from colbench.task import BACKEND, Task
from sweet_rl_trainer.data.trajectories import SampledTurn, Trajectory, messages_of


class Recorded(Struct, frozen=True, kw_only=True):
    """A rollout without its tokens, and the tokens."""

    rollout: Rollout
    """The rollout, without its turns' tokens."""
    sampled: tuple[SampledTurn | None, ...]
    """The tokens of each turn; None for a turn without tokens."""


class TasksMissingError(DataError):
    """An error because tasks of a run are missing or have changed."""


class NoRewardsError(DataError):
    """An error because a run contains no rollout with a reward."""


def read_run(
    folder: Path,
    *,
    tasks: Sequence[Task] | None = None,
    system: str | None = None,
    dropped: Counter[str] | None = None,
) -> list[Trajectory]:
    """Return the scored dialogues of a run, rewarded by the default scoring mode.

    `tasks` are the run's tasks, by default the tasks of the run's source (`tasks_of`). A rollout's task is found by its
    hash. Rollouts do not contain the agent's system prompt. `system` is the prompt to try first ("" for no prompt),
    before the other candidates (`system_prompt`). `{max_turns}` in the prompt becomes the run's turn limit. The
    pictures shown to an agent are also missing from rollouts, so the trajectories have no pictures.

    Dialogues that ended in a failure, or lack turns or a reward, are left out and counted by reason in `dropped`.
    Raises DataError if `run.json` or a rollout cannot be read, if a task is missing or changed, if the prompt is not
    found, or if no dialogue is left.
    """
    record, recorded = RunFolder(folder).record(), _recorded(folder)
    if tasks is None:
        tasks = tasks_of(record, folder)
    by_hash = _tasks_of([each.rollout for each in recorded], tasks, folder)
    lost = Counter[str]()
    kept = [each for each in recorded if _usable(each.rollout, lost)]
    if dropped is not None:
        dropped += lost
    if not kept:
        raise NoRewardsError(_nothing(folder, lost))
    domains = {each.rollout.domain for each in kept}
    prompts = {domain: system_prompt(record, domain, system, folder) for domain in sorted(domains)}
    return [
        _trajectory(each, by_hash[each.rollout.task_hash], prompts[each.rollout.domain])
        for each in kept
    ]


def _recorded(folder: Path) -> list[Recorded]:
    """Return the last rollout of each key in a run; tokens are packed into arrays one rollout at a time."""
    path = RunFolder(folder).rollouts_path
    found = iter_rollouts(path) if path.exists() else ()
    return list({rollout.key: _compact(rollout) for rollout in found}.values())


def _compact(rollout: Rollout) -> Recorded:
    turns = tuple(replace(turn, sampled=None) for turn in rollout.turns)
    sampled = tuple(_arrays(turn.sampled) if turn.sampled else None for turn in rollout.turns)
    return Recorded(rollout=replace(rollout, turns=turns), sampled=sampled)


def _arrays(sampled: Sampled) -> SampledTurn:
    return SampledTurn(prompt=array("i", sampled.prompt), ids=array("i", sampled.ids))


def _tasks_of(rollouts: Iterable[Rollout], tasks: Sequence[Task], folder: Path) -> dict[str, Task]:
    by_hash = {task.hash: task for task in tasks}
    known = {task.id for task in tasks}
    absent = {each.task_id: each for each in rollouts if each.task_hash not in by_hash}
    changed = sorted(absent.keys() & known)
    missing = sorted(absent.keys() - known)
    if absent:
        what = [
            f"{len(names)} of its tasks {verb} (such as {names[0]})"
            for names, verb in ((missing, "are missing"), (changed, "have changed"))
            if names
        ]
        raise TasksMissingError(
            f"{folder}: {' and '.join(what)}; set data.tasks to the tasks with which the run was made"
        )
    return by_hash


def _usable(rollout: Rollout, lost: Counter[str]) -> bool:
    score = rollout.scores.get("default")
    if rollout.ended_by == "failure" or not rollout.turns:
        lost["the dialogue failed"] += 1
    elif score is None or score.value is None:
        lost["no reward"] += 1
    else:
        return True
    return False


def _nothing(folder: Path, lost: Mapping[str, int]) -> str:
    counts = ", ".join(f"{reason}: {count}" for reason, count in lost.items()) or "the run is empty"
    return (
        f"{folder} has no rollout with a reward ({counts}); `colbench score {folder}` scores "
        "answers, and repeating its `colbench eval` command runs missing dialogues"
    )


def _trajectory(recorded: Recorded, task: Task, system: str) -> Trajectory:
    rollout, sampled = recorded.rollout, recorded.sampled
    score = rollout.scores["default"].value
    if score is None or rollout.ended_by == "failure":
        raise ValueError(f"rollout {rollout.key} has no reward")
    heard = [rollout.request, *(turn.human or "" for turn in rollout.turns[:-1])]
    return Trajectory(
        id=f"{rollout.task_id}/{rollout.trial}",
        task_id=rollout.task_id,
        task_hash=rollout.task_hash,
        domain=rollout.domain,
        privileged=task.hidden.reference,
        messages=messages_of(system, heard, [turn.generated for turn in rollout.turns]),
        said=tuple(turn.said for turn in rollout.turns),
        reward=score,
        ended_by=rollout.ended_by,
        sampled=sampled if any(sampled) else (),
    )


def tasks_of(record: RunRecord, folder: Path) -> list[Task]:
    """Return the tasks of a run's source (`source_of`).

    Raises DataError, which says what to provide, if the tasks cannot be loaded.
    """
    try:
        return named(source_of(RunFolder(folder), record))
    except UserError as cause:
        raise TasksMissingError(
            f"{folder}: its tasks cannot be loaded: {cause}; set data.tasks to the run's task file"
        ) from cause


def named(source: str) -> list[Task]:
    """Return the tasks of a source, such as `bundled:backend/train` or a file.

    Raises UserError if the source does not exist, DataError if a row is malformed.
    """
    return load_tasks(source)


def training_tasks(domain: str) -> str:
    """Return the task source to train on in a domain. Raises UserError if the domain has no training tasks."""
    source = get_domain(domain).defaults.training
    if not source:
        raise UserError(f"tasks: the domain {domain} has no training tasks; choose a task source")
    return source


def system_prompt(record: RunRecord, domain: str, given: str | None, folder: Path) -> str:
    """Return the system prompt of a run's agent for a domain.

    The candidates are, in this order: `given`, the run's prompt file, and the built-in prompt. The prompt is the first
    candidate that has the hash that the run recorded. Raises DataError if no candidate has this hash.

    The run of an agent without a prompt, such as a rule-based agent, recorded no hash. In this case, the first existing
    candidate is returned. If neither `given` nor a prompt file exists, this candidate is the built-in prompt, which
    `colbench eval` will give to the trained model.
    """
    recorded = recorded_prompt(record, domain)
    for prompt in _known(record, domain, given):
        if recorded in (None, _hash(prompt)):
            return prompt.replace("{max_turns}", str(record.config.max_turns))
    other = "" if given is None else f" (the file of data.system now has the hash {_hash(given)})"
    raise DataError(
        f"{folder}: the system prompt of the run's agent was not found: its hash is {recorded}, which neither the "
        f"run's prompt file ({record.config.agent_prompt or 'none'}) nor the built-in prompt has; set data.system to a "
        f"file with that prompt{other}"
    )


def _hash(prompt: str) -> str:
    return "sha256:" + hashlib.sha256(prompt.encode()).hexdigest()


def recorded_prompt(record: RunRecord, domain: str) -> str | None:
    """Return the hash of the agent's prompt that a run recorded; None if the run recorded no hash.

    The hash is stored under `DOMAIN_prompt`; older runs store the hash for backend programming under `prompt`.
    """
    pins = record.pins.get("agent", {})
    found = pins.get(f"{domain}_prompt", pins.get("prompt") if domain == BACKEND else None)
    return None if found is None else str(found)


def _known(record: RunRecord, domain: str, given: str | None) -> Iterator[str]:
    config = record.config
    if given is not None:
        yield given
    if config.agent_prompt and Path(config.agent_prompt).is_file():
        yield Path(config.agent_prompt).read_text("utf-8")
    yield get_domain(domain).agent_prompt(
        single_turn=bool(config.agent_args.get("single_turn", False)),
        pictures=bool(config.agent_args.get("pictures", False)),
    )
