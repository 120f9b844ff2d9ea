"""Descriptions of a finished stage's results, for the console and for the page of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from colbench.numbers import memory
from sweet_rl_trainer.pipeline.stage import Report, Stage

LEFT_OUT = {"left out": "", "dropped": "", "tasks_without": "tasks: "}
"""Keys under which a stage's summary counts what was left out, by reason; each has the text to show before a reason."""
MEMORY = "memory"
UNIT, COUNTED = "unit", ("taken", "held_out")
"""Keys in a summary of examples: the key of the unit (pairs or dialogues), and the keys of the counts in this unit."""


def numbers(stage: Stage, report: Report) -> Iterator[tuple[str, str]]:
    """Yield the values of a stage's summary that `Stage.shows` names, each as a name in words and a value as text.

    Lists, tables and missing values are left out.
    """
    unit = report.said.get(UNIT)
    for name in report.said if stage.shows is None else stage.shows:
        value = report.said.get(name)
        if name != UNIT and not isinstance(value, dict | list | type(None)):
            counted = f"{unit} " if unit and name in COUNTED else ""
            yield f"{counted}{in_words(name)}", _text(value)


def in_words(name: str) -> str:
    """Return the human-readable name of a value: `eval_accuracy` is `held-out accuracy`."""
    return name.replace("eval_", "held-out ").replace("_", " ")


def left_out(report: Report) -> Iterator[tuple[str, int]]:
    """Yield the reasons why items were left out, each with the number of items."""
    for name, what in LEFT_OUT.items():
        for reason, count in (report.said.get(name) or {}).items():
            yield f"{what}{reason}", count


def alarms(report: Report) -> list[str]:
    """Return the alarms of a stage."""
    return list(report.said.get("alarms", ()))


def peak(report: Report) -> str:
    """Return the peak memory of a stage's first training process as text.

    For a stage without training, return the peak memory of this program and its subprocesses.
    """
    return memory(report.said.get(MEMORY, report.memory))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = str(msgspec.to_builtins(value))
    return text if len(text) < 20 else f"{text[:12]}…"
