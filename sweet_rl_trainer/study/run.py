"""A study run. It runs the parts of a study in order, and writes all results so far after each part.

OUT/NAME-KEY/       the stages
OUT/base            the base model, a link to its stage
OUT/results.json    the results so far
OUT/report/         the report

Several processes can run the same command at once, one for each core: a process postpones a part while another process
runs one of the part's stages.

A part recorded in `results.json` is not run again, even if its stages are missing. So a study can continue from another
machine's results, if the base has the same weights.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from rich.text import Text

from colbench.console import errors
from colbench.errors import InUseError, UserError
from colbench.run_folder import hold
from colbench.version import __version__
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline.base import model_in
from sweet_rl_trainer.pipeline.stage import DONE, LOCK, Report, Stage, unfinished
from sweet_rl_trainer.pipeline.stage import read as read_json
from sweet_rl_trainer.study.arms import chosen
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.results import SCHEMA, Cost, Exchange, Results, Row, Try
from sweet_rl_trainer.study.results import Part as Result
from sweet_rl_trainer.study.study import NotMadeError, Part, Study
from sweet_rl_trainer.study.world import World

PROMPT, BASE, RESULTS = "no-prompt.txt", "base", "results.json"


class Runner:
    """A runner that runs the requested stages and reports them on the console."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.part = ""
        """The purpose of the next stages, in words."""

    def made(self, last: Stage) -> Path:
        """Run a stage and those of its dependencies that are not finished, and return the stage's folder.

        Waits for stages that another process is running.
        """
        for stage in unfinished(last, self.out):
            if stage.report(self.out) is None:
                self._say(stage)
                stage.run(self.out)
        return last.folder(self.out)

    def made_alone(self, last: Stage) -> Path:
        """Run a stage as `made` does, but raise NotMadeError if another process is running a stage that is needed."""
        for stage in unfinished(last, self.out):
            self._run_alone(stage)
        return last.folder(self.out)

    def _run_alone(self, stage: Stage) -> None:
        with ExitStack() as locks:
            try:
                locks.enter_context(stage.lock(self.out))
            except InUseError as cause:
                raise NotMadeError(stage) from cause
            if stage.report(self.out) is None:
                self._say(stage)
                stage.run_locked(self.out)

    def found(self, last: Stage) -> Path:
        """Return the folder of a finished stage. Raises NotMadeError if the stage is not finished."""
        if last.report(self.out) is None:
            raise NotMadeError(last)
        return last.folder(self.out)

    def wait(self, stage: Stage) -> None:
        """Wait until no other process is running a stage."""
        with stage.lock(self.out, wait=True):
            pass

    def _say(self, stage: Stage) -> None:
        name = stage.folder(self.out).name
        errors().print(Text(f"{self.part}: {stage.name}: {name}"))


def run(
    name: str, world: World, out: Path, *, seeds: int, only: Sequence[str] = ()
) -> Iterator[Results]:
    """Run a study with `seeds` seeds, of all arms or those in `only`; yield the results after each part and at the end.

    The results also contain parts that earlier calls finished, for other arms or further seeds. Raises UserError if the
    folder's results belong to a base with other weights.
    """
    arms, every = chosen(world.arms, tuple(only)), chosen(world.arms)
    out.mkdir(parents=True, exist_ok=True)
    (out / PROMPT).write_bytes(b"")
    graph, runner = Graph(world, out / PROMPT), Runner(out)
    before = read_results(out / RESULTS)
    recorded = before.parts if before else {}
    study = Study(graph, out, seeds=seeds, recorded=recorded)
    most = max(seeds, before.seeds if before else 0)
    whole = Study(graph, out, seeds=most, recorded=recorded)
    found = {part: _found(part, runner) for part in study.parts(arms)}
    left = [part for part, result in found.items() if result is None]
    kept = any(result and result.key in recorded for result in found.values())
    wanted = before.base if before and kept else ""
    base = _made_base(graph, runner, wanted) if left or not wanted else wanted
    head = Results(
        name=name,
        world=msgspec.to_builtins(world),
        base=base,
        version=__version__,
        machine=machine(),
        seeds=most,
        costs=before.costs if before else (),
    )
    for _ in each_made(left, runner):
        yield write(gathered(head, whole.parts(every), runner), out)
    yield write(gathered(head, whole.parts(every), runner), out)


def read_results(path: Path) -> Results | None:
    """Read recorded results; None if the file does not exist, or has an earlier format.

    Raises DataError if the file is damaged.
    """
    if not path.is_file():
        return None
    if read_json(path, dict[str, Any]).get("schema") != SCHEMA:
        return None
    return read_json(path, Results)


def _made_base(graph: Graph, runner: Runner, wanted: str) -> str:
    """Create the base model, link to its folder, and return its digest.

    `wanted`: the recorded digest; "" accepts every digest. Raises UserError if the new digest differs from `wanted`.
    """
    runner.part = BASE
    folder = model_in(runner.made(graph.base))
    _link(runner.out / BASE, folder)
    digest = model_digest(folder)
    if wanted not in ("", digest):
        raise UserError(
            f"{runner.out / RESULTS}: these results belong to base model {wanted[:12]}, but this machine produced "
            f"base model {digest[:12]}, because another processor or torch version rounds sums differently; move or "
            "rename the file to start the study over"
        )
    return digest


def each_made(left: list[Part], runner: Runner) -> Iterator[Part]:
    """Run all parts, and yield each one when it is done. Parts that another process is running come last.

    If other processes are running a stage of every part, wait for the first of these stages.
    """
    while left:
        blocking: list[Stage] = []
        for part in left:
            stage = _blocking(part, runner)
            if stage is None:
                left.remove(part)
                yield part
                break
            blocking.append(stage)
        else:
            runner.wait(blocking[0])


def _blocking(part: Part, runner: Runner) -> Stage | None:
    """Run a part. Return the stage that another process is running; None if the part is done."""
    runner.part = part.name
    try:
        part.make(runner.made_alone)
    except NotMadeError as blocked:
        return blocked.stage
    return None


def gathered(head: Results, parts: Iterable[Part], runner: Runner) -> Results:
    """Return `head` with the results of the finished parts."""
    found = [each for part in parts if (each := _found(part, runner)) is not None]
    return replace(
        head,
        rows=tuple(each for each in found if isinstance(each, Row)),
        tries=tuple(each for each in found if isinstance(each, Try)),
        exchanges=tuple(each for each in found if isinstance(each, Exchange)),
        costs=tuple({each.key: each for each in (*head.costs, *costs(runner.out))}.values()),
    )


def _found(part: Part, runner: Runner) -> Result | None:
    try:
        return part.make(runner.found)
    except NotMadeError:
        return None


def costs(out: Path) -> tuple[Cost, ...]:
    """Return the time of each finished stage in a folder."""
    reports = [read_json(path, Report) for path in sorted(out.glob(f"*/{DONE}"))]
    return tuple(Cost(key=each.key, stage=each.stage, seconds=each.seconds) for each in reports)


def write(results: Results, out: Path) -> Results:
    """Write the results, and return them."""
    with hold(out / LOCK, out, wait=True):
        part = out / f"{RESULTS}.part"
        part.write_bytes(msgspec.json.encode(results))
        part.rename(out / RESULTS)
    return results


def _link(place: Path, folder: Path) -> None:
    with hold(place.with_name(LOCK), place.parent, wait=True):
        part = place.with_name(f"{place.name}.part")
        part.unlink(missing_ok=True)
        part.symlink_to(folder.relative_to(place.parent))
        part.replace(place)


def machine() -> str:
    """Return a description of this machine."""
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else "no accelerator"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    cores = f"cores: {os.cpu_count()}, threads of a process: {torch.get_num_threads()}"
    where = f"{cores}, {platform.machine()}, {accelerator}"
    return f"{where}; Python {platform.python_version()}, {versions}"
