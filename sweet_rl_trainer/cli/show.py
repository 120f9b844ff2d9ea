"""What a run shows of its stages: a line for each, before and after it is done, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from sweet_rl_trainer.critic.diagnose import decode
from sweet_rl_trainer.critic.show import table
from sweet_rl_trainer.recipe import TRAININGS
from sweet_rl_trainer.stages.base import MODEL
from sweet_rl_trainer.stages.diagnose import DIAGNOSIS
from sweet_rl_trainer.stages.plan import EXPORT
from sweet_rl_trainer.stages.stage import Report, Stage

MINUTE, HOUR = 60, 3600
OF_TRAINING = ("step", "loss", "accuracy", "eval_accuracy", "eval_nll", "reward", "tokens")
"""What is said of a training, of all that it logged."""


def progress(stages: Sequence[Stage], out: Path) -> None:
    """Do the stages one after the other; what is done already is not done again."""
    console = Console(stderr=True)
    for number, stage in enumerate(stages, 1):
        name = f"[{number}/{len(stages)}] {stage.name}"
        report = stage.report(out)
        if report:
            console.print(Text(f"{name}: there already{_said(report)}", style="dim"))
        else:
            console.print(Text(f"{name}: {stage.folder(out)}"))
            report = stage.run(out)
            console.print(Text(f"{name}: done in {duration(report.seconds)}{_said(report)}"))
        if stage.name == "diagnose":
            console.print(table(decode((stage.folder(out) / DIAGNOSIS).read_bytes())))


def result(stages: Sequence[Stage], out: Path) -> None:
    """Where the last output is, and how a checkpoint is evaluated."""
    last = next((each for each in reversed(stages) if each.name == EXPORT), stages[-1])
    folder = last.folder(out)
    if last.name != EXPORT:
        print(folder)
        return
    print(folder / MODEL)
    Console(stderr=True).print(
        Text(
            f"evaluate it: colbench eval --agent vllm:{folder / MODEL} (local: in place of vllm: needs no server)"
        ),
        soft_wrap=True,
    )


def _said(report: Report) -> str:
    """The plain values among what a stage said; what it left out, with the reasons."""
    names = OF_TRAINING if report.stage in {*TRAININGS, "grpo"} else tuple(report.said)
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


def duration(seconds: float) -> str:
    """In words: 12.3 s, 4 min 10 s, 2 h 5 min."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
