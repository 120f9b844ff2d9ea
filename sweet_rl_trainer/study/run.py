"""A study run. It runs the parts of a study in order, and writes all results so far after each part.

OUT/NAME-KEY/       the stages
OUT/no-prompt.txt   an empty file, the system prompt of all policies
OUT/base            the base model, a link into its stage's folder
OUT/results.json    the results so far (`record`)
OUT/report/         the report

Several processes, such as one for each core, can run the same command at the same time: a process postpones a part
while another process runs one of the part's stages.

A recorded part is not run again, even if another machine recorded it. If further parts must be run, the base on this
machine must have the same weights as the base of the recorded parts; otherwise, the run ends with an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
from rich.text import Text

from colbench.console import errors
from colbench.errors import InUseError, UserError
from colbench.run_folder import hold
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline.base import model_in
from sweet_rl_trainer.pipeline.stage import LOCK, Stage, unfinished
from sweet_rl_trainer.study.arms import chosen
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.record import RESULTS, Record, read_results
from sweet_rl_trainer.study.results import Part as Result
from sweet_rl_trainer.study.results import Results
from sweet_rl_trainer.study.study import NotMadeError, Part, Study
from sweet_rl_trainer.study.world import World

PROMPT, BASE = "no-prompt.txt", "base"


class Runner:
    """A runner that runs the requested stages and reports them on the console."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.part = ""
        """Name of the part of the study to which the next stages belong, for the console."""

    def made(self, last: Stage) -> Path:
        """Run a stage after its unfinished dependencies, and return the stage's folder.

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
    """Run a study of all arms, or of the arms in `only`, with `seeds` seeds.

    Yield the results so far after each part, and all results at the end.

    The results also contain parts that earlier calls finished, for other arms or further seeds. Raises UserError if
    `only` names an unknown arm, or if the folder's results belong to a base with other weights.
    """
    arms = chosen(world.arms, tuple(only))
    out.mkdir(parents=True, exist_ok=True)
    (out / PROMPT).write_bytes(b"")
    graph, runner = Graph(world, out / PROMPT), Runner(out)
    record = record_of(graph, out, name=name, seeds=seeds)
    wanted = record.base()
    study = Study(graph, out, seeds=seeds, recorded=read_results(out / RESULTS))
    left = [part for part in study.parts(arms) if part.found(out) is None]
    base = _made_base(graph, runner, wanted) if left or not wanted else wanted
    for _ in each_made(left, runner):
        yield record.update(base)
    yield record.update(base)


def record_of(graph: Graph, out: Path, *, name: str, seeds: int) -> Record:
    """Return the record of the study that `graph` defines."""
    world = msgspec.to_builtins(graph.world)
    found = partial(_found, graph, out, seeds)
    return Record(out, name=name, world=world, seeds=seeds, found=found)


def _found(graph: Graph, out: Path, seeds: int, recorded: Results | None) -> list[Result]:
    """Return the finished parts of all arms, for `seeds` seeds or all recorded seeds, whichever are more."""
    most = max(seeds, recorded.seeds if recorded else 0)
    parts = Study(graph, out, seeds=most, recorded=recorded).parts(chosen(graph.world.arms))
    return [each for part in parts if (each := part.found(out)) is not None]


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
            f"base model {digest[:12]} (another processor or torch version rounds sums differently); copy the folder "
            f"{graph.base.folder(runner.out).name} from the machine with the first base to {runner.out}, or move the "
            "results away to start over"
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
    """Run a part, and return None. If another process is running a stage of the part, return this stage instead."""
    runner.part = part.name
    try:
        part.make(runner.made_alone)
    except NotMadeError as blocked:
        return blocked.stage
    return None


def _link(place: Path, folder: Path) -> None:
    with hold(place.with_name(LOCK), place.parent, wait=True):
        part = place.with_name(f"{place.name}.part")
        part.unlink(missing_ok=True)
        part.symlink_to(folder.relative_to(place.parent))
        part.replace(place)
