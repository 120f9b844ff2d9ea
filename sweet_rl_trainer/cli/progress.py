"""The display of a run: a line for each stage, before and after it, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from colbench.numbers import duration
from sweet_rl_trainer.pipeline import outcome
from sweet_rl_trainer.pipeline.base import EXPORT, MODEL
from sweet_rl_trainer.pipeline.stage import Report, Stage


def run_all(stages: Sequence[Stage], out: Path, page: Callable[[Stage | None], None]) -> None:
    """Run the stages that are not done yet, one after the other.

    `page` writes the page of the run. It is called with each stage before that starts, and with None at the end, also
    if a stage fails or the run is interrupted.
    """
    try:
        _run_all(stages, out, page)
    finally:
        page(None)


def _run_all(stages: Sequence[Stage], out: Path, page: Callable[[Stage | None], None]) -> None:
    console = Console(stderr=True)
    for number, stage in enumerate(stages, 1):
        name = f"[{number}/{len(stages)}] {stage.name}"
        report = stage.report(out)
        if report:
            console.print(Text(f"{name}: done already{_summary(stage, report)}", style="dim"))
        else:
            page(stage)
            console.print(Text(f"{name}: {stage.folder(out)}"))
            report = stage.run(out)
            console.print(
                Text(f"{name}: done in {duration(report.seconds)}{_summary(stage, report)}")
            )
        _show(console, stage, stage.folder(out), report)


def _show(console: Console, stage: Stage, folder: Path, report: Report) -> None:
    """Print the tables and the alarms of a stage."""
    for table in stage.view(folder).tables if stage.view else ():
        grid = Table(*table.head, box=None)
        for row in table.rows:
            grid.add_row(*map(Text, row))
        console.print(grid)
    for alarm in outcome.alarms(report):
        console.print(Text(f"! {alarm}", style="bold red"))


def show_result(stages: Sequence[Stage], out: Path) -> None:
    """Print the path of the last output, and how to evaluate a checkpoint."""
    last = next((each for each in reversed(stages) if each.name == EXPORT), stages[-1])
    folder = last.folder(out)
    if last.name != EXPORT:
        print(folder)
        return
    print(folder / MODEL)
    Console(stderr=True).print(
        Text(
            f"evaluate it: colbench eval --agent vllm:{folder / MODEL} (or local:… without a server)"
        ),
        soft_wrap=True,
    )


def _summary(stage: Stage, report: Report) -> str:
    """Return the plain values of a stage's report, and what it left out, by reason."""
    parts = [f"{name} {value}" for name, value in outcome.numbers(stage, report)]
    parts += [f"left out: {reason}: {count}" for reason, count in outcome.left_out(report)]
    return f" ({', '.join(parts)})" if parts else ""
