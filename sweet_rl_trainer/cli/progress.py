"""The display of a run: a line before and after each stage, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from colbench.console import console, errors, print_document
from colbench.numbers import duration
from sweet_rl_trainer.pipeline import outcome
from sweet_rl_trainer.pipeline.base import EXPORT, MODEL
from sweet_rl_trainer.pipeline.missing import eval_command, evaluating
from sweet_rl_trainer.pipeline.page import INDEX, Run
from sweet_rl_trainer.pipeline.stage import Report, Stage


def run_all(stages: Sequence[Stage], out: Path, page: Callable[[Stage | None], None]) -> None:
    """Run the stages that are not done yet, one after the other.

    `page` writes the page of the run. It is called with each stage before the stage starts, and with None at the end,
    even if a stage fails or the run is interrupted.
    """
    try:
        _run_all(stages, out, page)
    finally:
        page(None)


def _run_all(stages: Sequence[Stage], out: Path, page: Callable[[Stage | None], None]) -> None:
    for number, stage in enumerate(stages, 1):
        name = f"[{number}/{len(stages)}] {stage.name}"
        report = stage.report(out)
        if report:
            errors().print(Text(f"{name}: already done{_summary(stage, report)}", style="dim"))
        else:
            page(stage)
            errors().print(Text(f"{name}: {stage.folder(out)}"))
            report = stage.run(out)
            errors().print(
                Text(f"{name}: done in {duration(report.seconds)}{_summary(stage, report)}")
            )
        _show(stage, stage.folder(out), report)


def _show(stage: Stage, folder: Path, report: Report) -> None:
    """Print the tables and the alarms of a stage."""
    for table in stage.view(folder).tables if stage.view else ():
        grid = Table(*table.head, box=None)
        for row in table.rows:
            grid.add_row(*map(Text, row))
        errors().print(grid)
    for alarm in outcome.alarms(report):
        errors().print(Text(f"! {alarm}", style="bold red"))


def show_result(run: Run, *, as_json: bool) -> None:
    """Print the paths of the last output and of the page, and the command that evaluates an exported checkpoint."""
    last = next((each for each in reversed(run.stages) if each.name == EXPORT), run.stages[-1])
    folder, exported = last.folder(run.out), last.name == EXPORT
    output = folder / MODEL if exported else folder
    lines = [f"Report: {run.out / INDEX}"]
    command = ""
    if exported:
        config = evaluating(run.recipe, str(output))
        command = eval_command(config)
        hint = " (or local:… without a server)" if config.agent.startswith("vllm:") else ""
        lines.append(f"evaluate it: {command}{hint}")
    if as_json:
        print_document(_document(run, output, command))
        return
    console().out(output, highlight=False)
    errors().print(Text("\n".join(lines)), soft_wrap=True)


def _document(run: Run, output: Path, command: str) -> dict[str, Any]:
    reports = ((stage.folder(run.out), stage.report(run.out)) for stage in run.stages)
    return {
        "output": output,
        "page": run.out / INDEX,
        "evaluate": command or None,
        "stages": [
            {"stage": each.stage, "folder": folder, "seconds": each.seconds, "values": each.said}
            for folder, each in reports
            if each
        ],
    }


def _summary(stage: Stage, report: Report) -> str:
    """Return a text with the values of a stage's summary, and with the number of items left out for each reason."""
    parts = [f"{name} {value}" for name, value in outcome.numbers(stage, report)]
    parts += [f"left out: {reason}: {count}" for reason, count in outcome.left_out(report)]
    return f" ({', '.join(parts)})" if parts else ""
