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
from sweet_rl_trainer.pipeline.missing import eval_command, evaluating
from sweet_rl_trainer.pipeline.page import INDEX, Run
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
            console.print(Text(f"{name}: already done{_summary(stage, report)}", style="dim"))
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


def show_result(run: Run) -> None:
    """Print the path of the last output, that of the page, and how to evaluate a checkpoint."""
    last = next((each for each in reversed(run.stages) if each.name == EXPORT), run.stages[-1])
    folder, exported = last.folder(run.out), last.name == EXPORT
    print(folder / MODEL if exported else folder)
    lines = [f"Report: {run.out / INDEX}"]
    if exported:
        config = evaluating(run.recipe, str(folder / MODEL))
        served = config.agent.startswith("vllm:")
        hint = " (or local:… without a server)" if served else ""
        lines.append(f"evaluate it: {eval_command(config)}{hint}")
    Console(stderr=True).print(Text("\n".join(lines)), soft_wrap=True)


def _summary(stage: Stage, report: Report) -> str:
    """Return the plain values of a stage's report, and what it left out, by reason."""
    parts = [f"{name} {value}" for name, value in outcome.numbers(stage, report)]
    parts += [f"left out: {reason}: {count}" for reason, count in outcome.left_out(report)]
    return f" ({', '.join(parts)})" if parts else ""
