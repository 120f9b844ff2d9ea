"""Figures in one style, drawn by matplotlib without a display and saved as SVG and PNG.

The same data gives the same bytes: no date, random ID or matplotlib setting of the user affects a file. The background
is white, so a figure is readable on light and dark pages. matplotlib is imported only when a figure is made.

    with figures.style():
        figure, ((loss, accuracy),) = figures.panels(1, 2)
        loss.plot(steps, losses, label="training")
        figures.legend(figure)
    figures.save(figure, folder / "training", title="Loss and accuracy along training")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, MUTED, GRID, WHITE = "#1a1a1a", "#595959", "#dddddd", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE, BROWN = "#0072b2", "#d55e00", "#007a5a", "#a8467f", "#8f6400"
"""Colors that color-blind people can distinguish; each has a contrast of at least 3.8 on white."""
SERIES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (PURPLE, "-."))
"""Color and dash style of each line in a panel, in order."""
STYLE: dict[str, Any] = {
    "axes.edgecolor": MUTED,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.dpi": 96,
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],  # the first comes with matplotlib
    "font.size": 9,
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.labelcolor": MUTED,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.dpi": 144,
    "svg.fonttype": "none",  # keep text as text, in the reader's font
    "svg.hashsalt": "colbench",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "ytick.left": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of this module, regardless of the user's matplotlib settings."""
    from matplotlib import style as styles

    with styles.context(STYLE, after_reset=True):
        yield


def panels(
    rows: int, columns: int, *, size: tuple[float, float] = (3.4, 2.2), **options: Any
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its axes, row by row.

    `size` is the width and height of one panel in inches. `options` are passed to `matplotlib.figure.Figure.subplots`.
    """
    from matplotlib.figure import Figure

    width, height = size
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options).tolist()


def ring(axes: Axes, x: Sequence[float], y: Sequence[float], color: str, **options: Any) -> None:
    """Draw white circles with a colored edge, for example to mark selected points of a curve."""
    options |= {"linestyle": "none", "markerfacecolor": WHITE, "clip_on": False}
    axes.plot(x, y, marker="o", markeredgecolor=color, **options)


def percent(axis: Axis, sign: str = "%") -> None:
    """Label the ticks of an axis of shares in percent: `40%` at 0.4, `2.5%` at 0.025."""
    axis.set_major_formatter(lambda share, _: f"{share * 100:.3g}{sign}")


def ticks(axis: Axis, most: int) -> None:
    """Limit the number of intervals between the ticks of an axis; the ticks stay at round numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))


def legend(figure: Figure, *, right: bool = False) -> None:
    """Add one legend for all axes, in which each label occurs once.

    The legend is below the axes or, if `right`, in a column on the right.
    """
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    place = {"loc": "outside right upper"} if right else {"loc": "outside lower left", "ncols": 4}
    figure.legend(handles=list(found.values()), labels=list(found), **place)


def save(figure: Figure, path: Path, title: str) -> None:
    """Write a figure as `path` with the suffixes `.svg` and `.png`.

    `title` is stored in the metadata of both files. A page that shows the figure must also describe it in text.
    """
    with style():
        figure.savefig(
            path.with_name(f"{path.name}.svg"),
            metadata={"Title": title, "Date": None, "Creator": None},
        )
        figure.savefig(
            path.with_name(f"{path.name}.png"), metadata={"Title": title, "Software": None}
        )
