"""The log of a training run: values by step, a summary, and the alarms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

LOG = "log.jsonl"
ALARMS = "alarms"
"""Key of the alarms in a line of the log."""
MEASURED = (
    "loss",
    "eval_loss",
    "accuracy",
    "eval_accuracy",
    "nll",
    "eval_nll",
    "reward",
    "success",
    "margin",
    "reward_chosen",
    "reward_rejected",
    "kl",
    "eval_kl",
    "entropy",
    "eval_entropy",
    "length",
    "length_chosen",
    "length_rejected",
    "reply_tokens",
    "turns",
    "unanswered",
)
"""Names of the values in a summary, in order. The entropies of turns follow these values."""


class Range(Struct, frozen=True, kw_only=True):
    """The range of a logged value over a training run."""

    first: float
    last: float
    least: float
    most: float


class Summary(Struct, frozen=True, kw_only=True):
    """The content of `summary.json`."""

    steps: int
    values: dict[str, Range]
    alarms: list[str]


class History:
    """The logged values of a training run, and its alarms."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.steps = max((line["step"] for line in lines), default=0)
        self.alarms = [
            f"step {line['step']}: {text}" for line in lines for text in line.get(ALARMS, ())
        ]
        self.series: dict[str, list[tuple[int, float]]] = {}
        """Steps and values, by name."""
        self.last: dict[str, Any] = {}
        """The last value of each name."""
        for line in lines:
            self.last |= {name: value for name, value in line.items() if name != ALARMS}
            for name, value in line.items():
                if name != "step" and isinstance(value, int | float):
                    self.series.setdefault(name, []).append((line["step"], value))

    def summary(self) -> Summary:
        """Return the range of each measured value."""
        turns = sorted(
            (each for each in self.series if "_turn_" in each),
            key=lambda name: int(name.rpartition("_")[2]),
        )
        values = {
            name: _range(self.series[name]) for name in (*MEASURED, *turns) if name in self.series
        }
        return Summary(steps=self.steps, values=values, alarms=self.alarms)


def _range(points: list[tuple[int, float]]) -> Range:
    values = [value for _, value in points]
    return Range(first=values[0], last=values[-1], least=min(values), most=max(values))


def read_history(run: Path) -> History:
    """Return the logged values of the training run in a folder."""
    return History([msgspec.json.decode(line) for line in (run / LOG).read_bytes().splitlines()])
