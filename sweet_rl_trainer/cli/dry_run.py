"""The plan of a recipe: stages, examples, tokens, steps, memory, and settings that differ from the paper's.

A stage is counted if its inputs exist; otherwise nothing is known about it, or only an upper bound (≤). A model with
random weights is made in a temporary folder for counting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweet_rl_trainer.pipeline.base import BASE
from sweet_rl_trainer.pipeline.paper_diff import STAGES, paper_diff
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Known, Source, Stage


def show(recipe: Recipe, paper: Recipe, stages: Sequence[Stage], out: Path) -> None:
    """Print the plan, and the settings that differ from those of the paper's recipe."""
    console = Console()
    with TemporaryDirectory() as temporary:
        amounts = _Counter(out, Path(temporary)).count(stages)
        console.print(Text(f"Stages, in {out}"), soft_wrap=True)
        console.print(_table(stages, amounts, out), *_notes(stages, amounts), "", sep="\n")
    names = {stage.name for stage in stages}
    if names & set(STAGES):
        console.print(_deviations(recipe, paper, names))


def _deviations(recipe: Recipe, paper: Recipe, names: Collection[str]) -> Table | str:
    table = Table("deviation", "here", "paper", box=None)
    for row in paper_diff(recipe, paper, names):
        table.add_row(*(Text(_plain(each)) for each in row))
    return table if table.row_count else "No deviation from the paper."


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Counter:
    """Counts the examples, tokens and steps of stages."""

    def __init__(self, out: Path, temporary: Path) -> None:
        self._out = out
        self._temporary = temporary
        self._amounts: dict[str, Amount] = {}

    def count(self, stages: Sequence[Stage]) -> list[Amount]:
        """Return the amount of work of each stage, in order."""
        for stage in stages:
            self._amounts[stage.key] = self._amount(stage)
        return list(self._amounts.values())

    def _amount(self, stage: Stage) -> Amount:
        report = stage.report(self._out)
        if stage.name == BASE and not report:
            stage.run(self._temporary)
        if stage.estimate is None:
            return Amount()
        amounts = {
            name: self._amounts[each.key]
            for name, each in stage.inputs.items()
            if isinstance(each, Stage)
        }
        said = report.said if report else None
        return stage.estimate(Known(inputs=self._inputs(stage), amounts=amounts, said=said))

    def _inputs(self, stage: Stage) -> dict[str, Path]:
        """Return the folders of the inputs that exist."""
        found = {}
        for name, each in stage.inputs.items():
            if isinstance(each, Source):
                found[name] = each.path
            elif each.report(self._out):
                found[name] = each.folder(self._out)
            elif each.report(self._temporary):
                found[name] = each.folder(self._temporary)
        return found


def _state(stage: Stage, out: Path) -> str:
    if stage.report(out):
        return "done"
    return "begun" if stage.folder(out).is_dir() else "to do"


def _table(stages: Sequence[Stage], amounts: Sequence[Amount], out: Path) -> Table:
    table = Table(box=None)
    for name in ("", "stage", "state", "examples", "tokens", "steps", "memory"):
        table.add_column(
            name, no_wrap=True, justify="left" if name in {"stage", "state"} else "right"
        )
    for number, (stage, amount) in enumerate(zip(stages, amounts, strict=True), 1):
        cells = [str(number), stage.folder(out).name, _state(stage, out), *_numbers(amount)]
        table.add_row(*map(Text, cells))
    return table


def _notes(stages: Sequence[Stage], amounts: Sequence[Amount]) -> Iterator[Text]:
    for number, (stage, amount) in enumerate(zip(stages, amounts, strict=True), 1):
        if amount.note:
            yield Text(f"[{number}] {stage.name}: {amount.note}")


def _numbers(amount: Amount) -> Iterator[str]:
    sign = "≤ " if amount.most else ""
    for value in (amount.examples, amount.tokens, amount.steps):
        yield "" if value is None else f"{sign}{value:,}"
    yield "" if amount.memory is None else f"{amount.memory / 2**30:,.1f} GiB"
