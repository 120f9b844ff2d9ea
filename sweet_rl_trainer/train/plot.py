"""The picture of a training run: the logged values by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from sweet_rl_trainer import figures
from sweet_rl_trainer.train.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "training"
"""Name of the files, `training.svg` and `training.png`."""
COLUMNS = 3
MANY = 30
"""Minimum number of points for which a line shows a running mean, with the values faintly behind it."""
FLAT = 0.05
"""The minimum range of an axis, as a share of the largest absolute value on the axis."""
WINDOW = 20
"""Maximum number of points in a running mean."""


class Line(Struct, frozen=True):
    """A plotted line: the name of a logged value, and its label in the legend."""

    name: str
    label: str


class Panel(Struct, frozen=True):
    """Lines that are drawn together."""

    title: str
    lines: tuple[Line, ...]
    percent: bool = False


PANELS = (
    Panel("Loss", (Line("loss", "training"), Line("eval_loss", "held-out"))),
    Panel("Mean reward", (Line("reward", "training"),)),
    Panel("Success", (Line("success", "training"),), percent=True),
    Panel(
        "Accuracy of pairs",
        (Line("accuracy", "training"), Line("eval_accuracy", "held-out")),
        percent=True,
    ),
    Panel(
        "β · score of each side",
        (Line("reward_chosen", "chosen"), Line("reward_rejected", "rejected")),
    ),
    Panel(
        "log π_ref − log π per token (KL)",
        (Line("kl", "training"), Line("eval_kl", "held-out")),
    ),
    Panel(
        "Tokens of the replies",
        (
            Line("length", "training"),
            Line("reply_tokens", "training"),
            Line("length_chosen", "chosen"),
            Line("length_rejected", "rejected"),
        ),
    ),
    Panel("Turns per dialogue", (Line("turns", "training"),)),
    Panel("Dialogues without an answer", (Line("unanswered", "training"),), percent=True),
)
ENTROPY = "Entropy, nats per token"
STYLES = {
    "training": figures.SERIES[0],
    "held-out": figures.SERIES[1],
    "chosen": figures.SERIES[2],
    "rejected": figures.SERIES[3],
}
"""Styles by label, so that one legend covers all panels."""
FURTHER = ((figures.BROWN, (0, (6, 1, 1, 1))), (figures.MUTED, (0, (2, 1))))
"""Color and dashes of lines with other labels, such as `turn 1`."""


def draw(history: History, folder: Path, title: str) -> None:
    """Write `training.svg` and `training.png`, unless no value was logged."""
    panels = list(_panels(history))
    if not panels:
        return
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with figures.style():
        figure, axes = figures.panels(rows, columns, size=(3.3, 2.2))
        places = [each for row in axes for each in row]
        for place, panel in zip(places, panels, strict=False):
            _fill(place, panel, history)
        for place in places[max(0, len(panels) - columns) : len(panels)]:
            place.set_xlabel("step")
        for place in places[len(panels) :]:
            place.set_axis_off()
        figures.legend(figure)
    figures.save(figure, folder / NAME, title=title)


def _panels(history: History) -> Iterator[Panel]:
    """Yield the panels that have values, each with the lines that have values."""
    for panel in (*PANELS, _entropy(history)):
        lines = tuple(line for line in panel.lines if line.name in history.series)
        if lines:
            yield Panel(panel.title, lines, panel.percent)


def _entropy(history: History) -> Panel:
    """Return the panel of entropies: of all tokens, and of the first and the last turn if known."""
    lines = [Line("entropy", "training"), Line("eval_entropy", "held-out")]
    for prefix in ("", "eval_"):
        stem = f"{prefix}entropy_turn_"
        turns = sorted(int(name[len(stem) :]) for name in history.series if name.startswith(stem))
        lines += [
            Line(f"{stem}{turn}", f"turn {turn}")
            for turn in dict.fromkeys((*turns[:1], *turns[-1:]))
        ]
    return Panel(ENTROPY, tuple(lines))


def _fill(axes: Axes, panel: Panel, history: History) -> None:
    axes.set_title(panel.title)
    others = dict.fromkeys(line.label for line in panel.lines if line.label not in STYLES)
    styles = STYLES | dict(zip(others, cycle(FURTHER), strict=False))
    for line in panel.lines:
        color, dashes = styles[line.label]
        steps, values = zip(*history.series[line.name], strict=True)
        if len(steps) >= MANY:
            axes.plot(steps, values, color=color, alpha=0.25, linewidth=0.8)
            values = running_mean(values)
        marker = "o" if len(steps) < 12 else None
        axes.plot(steps, values, color=color, linestyle=dashes, marker=marker, label=line.label)
    if panel.percent:
        figures.percent(axes.yaxis)
        axes.set_ylim(-0.04, 1.04)
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
        _widen(axes)
    figures.ticks(axes.yaxis, 5)
    figures.ticks(axes.xaxis, 6)


def _widen(axes: Axes) -> None:
    """Widen an axis to at least the range that `FLAT` defines, so that negligible differences do not look large."""
    low, high = axes.get_ylim()
    if (lacking := FLAT * max(abs(low), abs(high)) - (high - low)) > 0:
        axes.set_ylim(low - lacking / 2, high + lacking / 2)


def running_mean(values: Sequence[float]) -> tuple[float, ...]:
    """Return, for each value, the mean of up to `WINDOW` values, of which this value is the last."""
    return tuple(
        sum(part) / len(part)
        for part in (values[max(0, n + 1 - WINDOW) : n + 1] for n in range(len(values)))
    )
