"""The plan of a recipe: stages, examples, tokens, steps, memory, and settings that differ from the paper's.

A stage is counted if its inputs exist; otherwise nothing is known about it, or only an upper bound (≤). A model with
random weights is made in a temporary folder for counting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from colbench.errors import DataError
from sweet_rl_trainer.collator import steps, steps_of_epoch
from sweet_rl_trainer.estimate import Size, size_of, training_bytes
from sweet_rl_trainer.paper_diff import STAGES, paper_diff
from sweet_rl_trainer.recipe import TRAININGS, Recipe
from sweet_rl_trainer.stages import data, sample
from sweet_rl_trainer.stages.base import chat_of, model_in
from sweet_rl_trainer.stages.examples import examples
from sweet_rl_trainer.stages.stage import Source, Stage

SHARDED = ("fsdp", "zero3")
"""Parts of the name of a configuration that shards weights."""


class Line(Struct, kw_only=True):
    """What is known about a stage."""

    state: str
    examples: int | None = None
    tokens: int | None = None
    """Tokens of all examples, each counted once."""
    steps: int | None = None
    memory: int | None = None
    """Bytes per device."""
    most: bool = False
    """True if the numbers are upper bounds."""
    note: str = ""


def show(recipe: Recipe, stages: Sequence[Stage], out: Path) -> None:
    """Print the plan."""
    console = Console()
    with TemporaryDirectory() as temporary:
        lines = _Counter(recipe, out, Path(temporary)).lines(stages)
        console.print(Text(f"Stages, in {out}"), soft_wrap=True)
        console.print(_table(stages, lines, out), *_notes(stages, lines), "", sep="\n")
    names = {stage.name for stage in stages}
    if names & set(STAGES):
        console.print(_deviations(recipe, names))


def _deviations(recipe: Recipe, names: Collection[str]) -> Table | str:
    table = Table("deviation", "here", "paper", box=None)
    for row in paper_diff(recipe, names):
        table.add_row(*(Text(_plain(each)) for each in row))
    return table if table.row_count else "No deviation from the paper."


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Counter:
    """Counts the examples, tokens and steps of the stages of a recipe."""

    def __init__(self, recipe: Recipe, out: Path, temporary: Path) -> None:
        self._recipe = recipe
        self._out = out
        self._temporary = temporary
        self._size: Size | None = None
        self._counted: dict[str, Line] = {}

    def lines(self, stages: Sequence[Stage]) -> list[Line]:
        """Return a line for each stage, in order."""
        for stage in stages:
            self._counted[stage.key] = self._line(stage)
        return list(self._counted.values())

    def _line(self, stage: Stage) -> Line:
        report = stage.report(self._out)
        state = "done" if report else "begun" if stage.folder(self._out).is_dir() else "to do"
        line = Line(state=state)
        if stage.name == "base" and not report:
            stage.run(self._temporary)
        elif stage.name.endswith("-data"):
            self._count_examples(stage, line, report.said if report else None)
        elif stage.name == "sample":
            self._count_turns(stage, line)
        elif stage.name == "rank":
            self._count_pairs(stage, line, report.said if report else None)
        elif stage.name in TRAININGS:
            self._count_steps(stage, line)
        elif stage.name == "grpo":
            settings = self._recipe.grpo.train
            line.steps = settings.steps
            line.note = f"{settings.batch_size} dialogues a step"
        return line

    def _inputs(self, stage: Stage) -> dict[str, Path] | None:
        """Return the folders of the inputs of a stage; None if one does not exist yet."""
        found = {}
        for name, each in stage.inputs.items():
            if isinstance(each, Source):
                found[name] = each.path
            elif each.report(self._out):
                found[name] = each.folder(self._out)
            elif each.report(self._temporary):
                found[name] = each.folder(self._temporary)
            else:
                return None
        return found

    def _count_examples(self, stage: Stage, line: Line, said: dict[str, Any] | None) -> None:
        if said:
            line.examples, line.tokens = said["taken"], said["tokens"]
            return
        inputs = self._inputs(stage)
        if inputs is None:
            line.note = "after the dialogues are collected"
            return
        table = getattr(self._recipe, stage.name.removesuffix("-data"))
        chat = chat_of(model_in(inputs["model"]), self._recipe.model)
        try:
            made = examples(data.load(self._recipe.data, inputs), chat, table)
        except DataError as cause:
            line.note = str(cause)
            return
        line.examples, line.tokens = made.report.taken, made.report.tokens
        left = {**made.report.dropped, **made.without}
        line.note = ", ".join(f"{reason}: {count}" for reason, count in left.items())

    def _count_turns(self, stage: Stage, line: Line) -> None:
        inputs = self._inputs(stage)
        if inputs is None:
            line.note = "after the dialogues are collected"
            return
        try:
            found = data.load(self._recipe.data, inputs)
            sample.check_prompts(found, self._recipe)
            turns = sample.turns(found, self._recipe.sample)
        except DataError as cause:
            line.note = str(cause)
            return
        line.examples = len(turns)
        line.note = f"turns, {self._recipe.sample.count} replies each"

    def _count_pairs(self, stage: Stage, line: Line, said: dict[str, Any] | None) -> None:
        if said:
            line.examples, line.tokens = said["pairs"], said["tokens"]
            return
        sampled = stage.inputs["candidates"]
        turns = self._counted[sampled.key].examples
        if turns is not None:
            line.examples, line.most = turns * self._recipe.rank.pairs_per_turn, True

    def _count_steps(self, stage: Stage, line: Line) -> None:
        source = self._counted[stage.inputs["data"].key]
        table = getattr(self._recipe, stage.name)
        line.most = source.most
        line.examples, line.tokens = source.examples, source.tokens
        if source.examples is not None:
            line.steps = steps(source.examples, table.train)
        if line.tokens is not None and line.steps is not None and source.examples:
            epochs = line.steps / steps_of_epoch(source.examples, table.train)
            line.tokens = round(line.tokens * epochs)
        line.memory = self._memory(stage, table.train)

    def _memory(self, stage: Stage, settings: Any) -> int | None:
        inputs = self._inputs(
            Stage(name="", act=stage.act, settings=None, inputs={"model": stage.inputs["model"]})
        )
        if inputs is None:
            return None
        if self._size is None:
            self._size = size_of(model_in(inputs["model"]))
        launch = self._recipe.launch
        shards = launch.processes if any(each in launch.config for each in SHARDED) else 1
        return training_bytes(self._size, settings, self._recipe.lora, shards=shards)


def _table(stages: Sequence[Stage], lines: Sequence[Line], out: Path) -> Table:
    table = Table(box=None)
    for name in ("", "stage", "state", "examples", "tokens", "steps", "memory"):
        table.add_column(
            name, no_wrap=True, justify="left" if name in {"stage", "state"} else "right"
        )
    for number, (stage, line) in enumerate(zip(stages, lines, strict=True), 1):
        cells = [str(number), stage.folder(out).name, line.state, *_numbers(line)]
        table.add_row(*map(Text, cells))
    return table


def _notes(stages: Sequence[Stage], lines: Sequence[Line]) -> Iterator[Text]:
    for number, (stage, line) in enumerate(zip(stages, lines, strict=True), 1):
        if line.note:
            yield Text(f"[{number}] {stage.name}: {line.note}")


def _numbers(line: Line) -> Iterator[str]:
    sign = "≤ " if line.most else ""
    for value in (line.examples, line.tokens, line.steps):
        yield "" if value is None else f"{sign}{value:,}"
    yield "" if line.memory is None else f"{line.memory / 2**30:,.1f} GiB"
