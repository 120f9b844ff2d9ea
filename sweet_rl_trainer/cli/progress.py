"""The display of a run: a line for each stage, before and after it, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from colbench.numbers import duration
from sweet_rl_trainer.pipeline.base import EXPORT, MODEL
from sweet_rl_trainer.pipeline.stage import Report, Stage


def run_all(stages: Sequence[Stage], out: Path) -> None:
    """Run the stages that are not done yet, one after the other."""
    console = Console(stderr=True)
    for number, stage in enumerate(stages, 1):
        name = f"[{number}/{len(stages)}] {stage.name}"
        report = stage.report(out)
        if report:
            console.print(Text(f"{name}: done already{_summary(stage, report)}", style="dim"))
        else:
            console.print(Text(f"{name}: {stage.folder(out)}"))
            report = stage.run(out)
            console.print(
                Text(f"{name}: done in {duration(report.seconds)}{_summary(stage, report)}")
            )
        if stage.view:
            console.print(stage.view(stage.folder(out)))


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
    names = tuple(report.said) if stage.shows is None else stage.shows
    parts = [
        f"{name.replace('_', ' ')} {_value(report.said[name])}"
        for name in names
        if not isinstance(report.said.get(name), dict | list | type(None))
    ]
    left = report.said.get("left out") or report.said.get("dropped") or {}
    parts += [f"left out: {reason}: {count}" for reason, count in left.items()]
    return f" ({', '.join(parts)})" if parts else ""


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = str(msgspec.to_builtins(value))
    return text if len(text) < 20 else f"{text[:12]}…"
