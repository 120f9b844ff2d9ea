"""The trajectories used by a recipe, with unique IDs, divided into a training and a held-out split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import digest
from colbench.errors import UserError
from colbench.run_folder import RunFolder
from colbench.task import Task
from colbench_tasks.trajectories import read_trajectories
from sweet_rl_trainer.data import runs
from sweet_rl_trainer.data.own import read_own
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.data.splits import part, split
from sweet_rl_trainer.data.trajectories import Trajectory, from_official
from sweet_rl_trainer.model.digest import file_digest
from sweet_rl_trainer.pipeline.base import RUN
from sweet_rl_trainer.pipeline.recipe import DataSettings
from sweet_rl_trainer.pipeline.stage import Source

ROLLOUTS = "rollouts.jsonl"
RUNS, OFFICIAL, CHATS, COLLECTED = "runs", "official", "chats", "collected"
NEGATIVES, TRUNCATED, PRIVILEGED = "negatives", "truncated", "privileged"
"""Names of a stage's inputs. The full name of an input ends in a number (`runs0`, `runs1` …).

The stages of the recipe collect the inputs `collected`, `truncated` and `privileged`. All other inputs are existing run
folders or files.
"""

IDS = "line numbers"
"""The kind of IDs that dialogues from files have.

Stages' outputs contain these IDs. So the kind is part of a file's key: with another kind, the stages run again.
"""


class Data(Struct, frozen=True, kw_only=True):
    """The data to learn from."""

    train: list[Trajectory]
    held_out: list[Trajectory]
    negatives: list[Trajectory]
    """Extra negatives for training; see `DataSettings.negatives`."""
    privileged: list[Trajectory]
    """Trajectories for training, by agents that knew the privileged information c (`Recipe.collect_privileged`)."""
    dropped: dict[str, int]
    """Dialogues that were left out, by reason."""

    @property
    def by_id(self) -> dict[str, Trajectory]:
        """The training and held-out trajectories, by ID."""
        return {each.id: each for each in (*self.train, *self.held_out)}


def sources(data: DataSettings) -> dict[str, Source]:
    """Return the run folders and files that a recipe names, by input name. Raises UserError if one does not exist."""
    named = {
        RUNS: list(map(_run, data.runs)),
        OFFICIAL: list(map(_file, data.official)),
        CHATS: list(map(_file, data.chats)),
        NEGATIVES: list(map(_run, data.negatives)),
    }
    return {
        f"{name}{number}": source
        for name, sources in named.items()
        for number, source in enumerate(sources)
    }


def settings(data: DataSettings) -> dict[str, object]:
    """Return the settings that, together with the files, determine the trajectories.

    The setting `tasks` is left out, because tasks are found by their hashes.
    """
    system = None if data.system is None else digest(_read(data.system))
    kept: dict[str, object] = {"held_out": data.held_out, "seed": data.seed, "system": system}
    return kept if data.share == 1 else kept | {"share": data.share}


def load(data: DataSettings, inputs: Mapping[str, Path]) -> Data:
    """Return the trajectories of the inputs of a stage. Raises UserError if they cannot be read or split."""
    dropped = Counter[str]()
    tasks = runs.named(data.tasks) if data.tasks else None
    system = None if data.system is None else _read(data.system)

    def of_run(folder: Path) -> list[Trajectory]:
        found = read_run(folder, tasks=tasks, system=system, dropped=dropped)
        return sorted(
            found, key=lambda each: each.id
        )  # a run's file has dialogues in the order in which they ended

    def of_file(path: Path) -> list[Trajectory]:
        return list(from_official(read_trajectories(path), system=system or "", dropped=dropped))

    read = [
        *map(of_run, run_folders(inputs)),
        *map(of_file, _named(inputs, OFFICIAL)),
        *(list(read_own(path)) for path in _named(inputs, CHATS)),
    ]
    train, held_out = split(_distinct(read), data.held_out, seed=data.seed)
    train = part(train, data.share, seed=data.seed)
    wanted = {each.task_hash for each in train}
    truncated = [*_named(inputs, NEGATIVES), *(path / RUN for path in _named(inputs, TRUNCATED))]
    extra = _distinct([*map(of_run, truncated)], "negatives ")
    knowing = _distinct([of_run(path / RUN) for path in _named(inputs, PRIVILEGED)], "privileged ")
    return Data(
        train=train,
        held_out=held_out,
        negatives=[each for each in extra if each.task_hash in wanted],
        privileged=[each for each in knowing if each.task_hash in wanted],
        dropped=dict(dropped),
    )


def tasks(data: DataSettings, inputs: Mapping[str, Path]) -> dict[str, Task]:
    """Return the tasks of the input runs by hash, read from `data.tasks` if it is set.

    Inputs other than runs are ignored, because they have no tasks with facts.
    """
    named = runs.named(data.tasks) if data.tasks else None
    return {
        task.hash: task
        for folder in run_folders(inputs)
        for task in named or runs.tasks_of(RunFolder(folder).record(), folder)
    }


def run_folders(inputs: Mapping[str, Path]) -> list[Path]:
    """Return the folders of the input runs, except runs for extra negatives and runs with privileged information."""
    return [*_named(inputs, RUNS), *(path / RUN for path in _named(inputs, COLLECTED))]


def _named(inputs: Mapping[str, Path], name: str) -> list[Path]:
    """Return the inputs of this name in the order of their numbers."""
    return [path for key, path in inputs.items() if key.rstrip("0123456789") == name]


def _distinct(groups: Sequence[Sequence[Trajectory]], prefix: str = "") -> list[Trajectory]:
    """Return all trajectories with distinct IDs.

    For several groups, or with a `prefix`, the prefix and the group's number are prepended to each ID.
    """
    alone = len(groups) == 1 and not prefix
    return [
        each if alone else replace(each, id=f"{prefix}{number}:{each.id}")
        for number, group in enumerate(groups)
        for each in group
    ]


def _file(name: str) -> Source:
    path = Path(name)
    return Source(path=path, key=digest([IDS, _digest(path)]))


def _run(folder: str) -> Source:
    path = Path(folder) / ROLLOUTS
    if not path.is_file():
        raise UserError(f"{folder} is not a run folder of `colbench eval`: {ROLLOUTS} is missing")
    return Source(path=path.parent, key=_run_digest(path))


def _run_digest(rollouts: Path) -> str:
    """Return the digest of a run's rollouts and of the part of the run's record that determines the agent's prompt."""
    record = RunFolder(rollouts.parent).record()
    return digest([_digest(rollouts), record.config.max_turns, record.pins.get("agent")])


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as cause:
        raise UserError(f"{path} cannot be read: {cause.strerror}") from cause


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UserError(f"data.system: {path} cannot be read: {cause}") from cause
