"""The plan of a recipe: stages, examples, tokens, steps, memory, and settings that differ from the paper's.

Anything that is missing for training is listed first. If a stage's dialogues exist, its examples are counted;
otherwise, their number is unknown, or only an upper bound (≤) is shown. Nothing is downloaded. For a model that is not
on this machine, tokens are estimated ("about"), and memory follows from the architecture that the model's name
indicates. If a model with random weights does not exist yet, it is created in a temporary folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from colbench.command import USER_MISTAKE
from colbench.console import console, print_document
from sweet_rl_trainer.model.memory_estimate import known_parameters, size_of
from sweet_rl_trainer.pipeline.amounts import count, lacks
from sweet_rl_trainer.pipeline.method import find_method
from sweet_rl_trainer.pipeline.paper_diff import STAGES, as_text, paper_diff
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Stage

NO_GPU = (
    "no GPU: this recipe needs one (precision bfloat16), but PyTorch finds no GPU on this machine"
)
DEVIATION = ("deviation", "here", "paper")
ON_CPU = 1e9
"""Number of parameters below which a model can be trained in bfloat16 without a GPU."""


def show(
    recipe: Recipe, paper: Recipe, stages: Sequence[Stage], out: Path, *, as_json: bool
) -> int:
    """Print what is missing, the plan, and the settings that differ from those of the paper's recipe.

    If the plan has none of the paper's stages, settings are not compared. Return the exit code: 2 if something is
    missing, else 0.
    """
    with TemporaryDirectory() as temporary:
        amounts = count(stages, out, Path(temporary))
    absent = lacks(stages, amounts)
    names = {stage.name for stage in stages}
    rows = paper_diff(recipe, paper, names) if names & set(STAGES) else None
    if as_json:
        print_document(
            {
                "out": out,
                "missing": absent,
                "stages": [*map(partial(_entry, out), stages, amounts)],
                "lacks_gpu": _lacks_gpu(recipe),
                "deviations": rows and [dict(zip(DEVIATION, row, strict=True)) for row in rows],
            }
        )
    else:
        _print(stages, amounts, out, absent)
        console().print(*([NO_GPU] if _lacks_gpu(recipe) else []), "", soft_wrap=True, sep="\n")
        if rows is not None:
            console().print(_deviations(rows))
    return USER_MISTAKE if absent else 0


def _print(
    stages: Sequence[Stage], amounts: Sequence[Amount], out: Path, absent: Sequence[str]
) -> None:
    """Print the missing inputs and the stages."""
    for lack in absent:
        console().print(Text(f"Missing: {lack}", style="bold red"), "", soft_wrap=True, sep="\n")
    console().print(Text(f"Stages, in {out}"), soft_wrap=True)
    console().print(_table(stages, amounts, out), *_notes(stages, amounts), sep="\n")


def _entry(out: Path, stage: Stage, amount: Amount) -> dict[str, Any]:
    """Return a stage for the JSON document."""
    folder = None if stage.planned_only else stage.folder(out)
    return {
        "stage": stage.name,
        "folder": folder,
        "state": _state(stage, out),
        **msgspec.structs.asdict(amount),
    }


def _lacks_gpu(recipe: Recipe) -> bool:
    """Return True if the recipe trains, in bfloat16, a model of large or unknown size, but PyTorch finds no GPU."""
    import torch

    folder = Path(recipe.model.name)
    known = (folder / "config.json").is_file()
    parameters = size_of(folder).parameters if known else known_parameters(recipe.model.name)
    if parameters and parameters < ON_CPU:
        return False
    tables = (recipe.tables[name] for name in find_method(recipe.method).tables)
    precisions = {getattr(getattr(each, "train", None), "precision", "") for each in tables}
    return "bfloat16" in precisions and not torch.cuda.is_available()


def _deviations(rows: Sequence[tuple[str, object, object]]) -> Table | str:
    table = Table(*DEVIATION, box=None)
    for row in rows:
        table.add_row(*(Text(as_text(each)) for each in row))
    return table if table.row_count else "No deviation from the paper."


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
        name = stage.name if stage.planned_only else stage.folder(out).name
        cells = [str(number), name, _state(stage, out), *_numbers(amount)]
        table.add_row(*map(Text, cells))
    return table


def _notes(stages: Sequence[Stage], amounts: Sequence[Amount]) -> Iterator[Text]:
    for number, (stage, amount) in enumerate(zip(stages, amounts, strict=True), 1):
        if amount.note:
            yield Text(f"[{number}] {stage.name}: {amount.note}")
    if any(amount.about for amount in amounts):
        yield Text("about: estimated without a tokenizer, as the model is not on this machine")


def _numbers(amount: Amount) -> Iterator[str]:
    sign = "≤ " if amount.most else ""
    about = "about " if amount.about else ""
    for value, mark in ((amount.examples, ""), (amount.tokens, about), (amount.steps, "")):
        yield "" if value is None else f"{sign}{mark}{value:,}"
    yield "" if amount.memory is None else f"{amount.memory / 2**30:,.1f} GiB"
