"""A stage: a step of a training run. A stage consists of an action, its settings and its inputs.

The output of a stage is stored under a key, so it is created only once:

    OUT/NAME-KEY/           the output, complete or not
    OUT/NAME-KEY/done.json  written last: the stage is done

KEY is a digest of the name, the settings and the keys of the inputs. The key of a file is a digest of its content. If
the recipe changes, only the affected stages run again. If the change is undone, the old outputs are used again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from colbench.config import digest
from colbench.errors import DataError
from colbench.run_folder import hold, refuse_foreign
from sweet_rl_trainer.pipeline.memory_monitor import MemoryMonitor
from sweet_rl_trainer.pipeline.view import View

T = TypeVar("T")
DONE, LOCK = "done.json", ".lock"
FOLDER = re.compile(r"[\w-]+-[0-9a-f]{12}")
"""Names of the stages' folders."""
FORMAT = 2
"""Version of the stages' outputs; outputs of another version are not found."""


class Report(Struct, frozen=True, kw_only=True):
    """The content of `done.json`."""

    stage: str
    key: str
    settings: Any
    inputs: dict[str, str]
    """The key of each input, by the input's name."""
    seconds: float
    """Duration of the call that finished the stage, without earlier calls that were killed."""
    memory: int | None = None
    """Peak memory of this program and its subprocesses, in bytes (`memory_monitor`).

    Only the call that finished the stage is measured.
    """
    said: dict[str, Any]
    """The summary that the stage's action returned."""


class Amount(Struct, kw_only=True):
    """The amount of work of a stage, as far as it is known before the stage runs. Unknown numbers are None."""

    examples: int | None = None
    tokens: int | None = None
    """Number of tokens of all examples; an example that is used several times counts each time."""
    steps: int | None = None
    memory: int | None = None
    """Bytes of memory per device."""
    most: bool = False
    """True if the numbers are upper bounds."""
    about: bool = False
    """True if tokens are estimates."""
    note: str = ""
    missing: str = ""
    """The missing prerequisites of the stage, with a fix, such as a command; "" if nothing is known to be missing."""


class Known(Struct, frozen=True, kw_only=True):
    """Facts about a stage that are known before the stage runs, for `Stage.estimate`."""

    inputs: dict[str, Path]
    """The folders of the inputs that exist, by name."""
    amounts: dict[str, Amount]
    """The work of the inputs that are stages, by name."""
    said: dict[str, Any] | None
    """The summary of the stage; None if it is not done."""
    absent: frozenset[str] = frozenset()
    """Names of the sources that do not exist on this machine (`Source.path`)."""
    with_models: bool = True
    """False if the estimate only looks for missing inputs. Models must then not be read or measured."""

    @property
    def waits(self) -> bool:
        """True if an input other than the model must still be created by another stage."""
        return not self.amounts.keys() <= {*self.inputs, "model"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files that exist before any stage is run."""

    path: Path | None
    """The path. None if the files are not on this machine; a stage that needs them can then be planned, but not run."""
    key: str
    """A digest of the files' content; preliminary if `path` is None."""
    missing: str = ""
    """Advice if files are missing and will not be downloaded, such as the command that makes them; otherwise ""."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The folders of a stage that is being run."""

    folder: Path
    inputs: Mapping[str, Path]
    """The folders of the stage's inputs."""
    shared: Path
    """The folder of all outputs, for files that stages share, such as the cache of reference log-probabilities."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of a training run: an action, its settings and its inputs."""

    name: str
    act: Callable[[Job], dict[str, Any]]
    """A function that runs or resumes the stage, and returns a summary."""
    settings: Any
    """Everything that the output depends on in addition to the inputs, as plain values."""
    inputs: Mapping[str, Stage | Source] = field(default_factory=dict)
    estimate: Callable[[Known], Amount] | None = None
    """A function that estimates the amount of work, for `--dry-run`, and that says what is missing."""
    shows: tuple[str, ...] | None = None
    """Names of the summary's values to show on the console; None shows all values."""
    view: Callable[[Path], View] | None = None
    """A function that returns the part of a folder's output that the console and the page of the run show."""

    @cached_property
    def planned_only(self) -> bool:
        """True if a direct or indirect input is not on this machine; the stage's key is then preliminary."""
        return any(
            each.path is None if isinstance(each, Source) else each.planned_only
            for each in self.inputs.values()
        )

    @cached_property
    def key(self) -> str:
        """The key that identifies the stage's output."""
        inputs = {name: each.key for name, each in self.inputs.items()}
        return digest([FORMAT, self.name, msgspec.to_builtins(self.settings), inputs])

    def folder(self, root: Path) -> Path:
        """Return the folder of the output, which need not exist."""
        return root / f"{self.name}-{self.key[:12]}"

    def report(self, root: Path) -> Report | None:
        """Return the report of the stage; None if the stage is not finished.

        Raises DataError if the report's file is damaged.
        """
        path = self.folder(root) / DONE
        if not path.is_file():
            return None
        return read(path, Report)

    def run(self, root: Path) -> Report:
        """Run the stage unless it is done, and return its report. Wait while another process is running the stage.

        Inputs that are stages must be done.
        """
        with self.lock(root, wait=True):
            return self.run_locked(root)

    def lock(self, root: Path, *, wait: bool = False) -> AbstractContextManager[None]:
        """Return a context manager that locks the stage's folder against other processes (`run_folder.hold`)."""
        return hold(self.folder(root) / LOCK, root, wait=wait)

    def run_locked(self, root: Path) -> Report:
        """Run the stage unless it is done, and return its report. The caller holds the stage's lock."""
        return self.report(root) or self._act(self.folder(root), root)

    def _act(self, folder: Path, root: Path) -> Report:
        begun = time.monotonic()
        with MemoryMonitor() as monitor:
            said = self.act(Job(folder=folder, inputs=self._places(root), shared=root))
        report = Report(
            stage=self.name,
            key=self.key,
            settings=msgspec.to_builtins(self.settings),
            inputs={name: each.key for name, each in self.inputs.items()},
            seconds=time.monotonic() - begun,
            memory=monitor.peak,
            said=said,
        )
        part = folder / f"{DONE}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
        part.rename(folder / DONE)
        return report

    def _places(self, root: Path) -> dict[str, Path]:
        found = {
            name: each.path if isinstance(each, Source) else each.folder(root)
            for name, each in self.inputs.items()
        }
        return {name: path for name, path in found.items() if path is not None}


def refuse_foreign_folder(root: Path, *, mark: str | None = None) -> None:
    """Refuse an output folder that has files but belongs neither to a study nor to a pipeline.

    Raises UserError, which names `--out`, if the folder has files, but neither a stage's folder nor the file `mark`.
    Hidden files do not count.
    """
    stages = any(FOLDER.fullmatch(lock.parent.name) for lock in root.glob(f"*/{LOCK}"))
    own = stages or (mark is not None and (root / mark).is_file())
    refuse_foreign(root, "training", "folder of a stage", own=own)


def read(path: Path, type_: type[T]) -> T:
    """Read a JSON file in a stage's folder. Raises DataError if it is damaged or missing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type_)
    except (OSError, msgspec.DecodeError) as cause:
        raise DataError(f"{path}: {cause}; {rerun_advice(path.parent)}") from cause


def rerun_advice(folder: Path) -> str:
    """Return the advice for a stage with damaged output."""
    return f"delete {folder} to run the stage again"


def order(last: Stage, *, unless: Callable[[Stage], bool] | None = None) -> list[Stage]:
    """Return the stage `last` and all stages that it needs, each once, dependencies first.

    Stages for which `unless` is true are left out. Stages that only omitted stages need are left out too.
    """
    found: dict[str, Stage] = {}

    def visit(stage: Stage) -> None:
        if unless and unless(stage):
            return
        for each in stage.inputs.values():
            if isinstance(each, Stage):
                visit(each)
        found.setdefault(stage.key, stage)

    visit(last)
    return list(found.values())


def unfinished(last: Stage, root: Path) -> list[Stage]:
    """Return `last` and its dependencies in order, without finished stages.

    Stages that only finished stages need are also left out.
    """
    return order(last, unless=lambda stage: stage.report(root) is not None)
