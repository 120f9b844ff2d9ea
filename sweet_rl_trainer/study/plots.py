"""The picture of the report: success on the test tasks, by arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sweet_rl_trainer import figures
from sweet_rl_trainer.figures import BLUE, INK, MUTED
from sweet_rl_trainer.study.arms import ARMS
from sweet_rl_trainer.study.measures import Summary, on_tests, success, summary
from sweet_rl_trainer.study.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LINE = 8.2, 0.34
"""Width of the picture, and height of each arm's row, both in inches."""


@figures.style()
def draw(results: Results) -> Figure:
    """Return the picture, with a row for each arm: the mean, its interval over seeds, and the value of each seed."""
    found = [(arm, summary(on_tests(results, arm.name), success)) for arm in ARMS]
    known = [(arm, each) for arm, each in found if each]
    figure, ((axes,),) = figures.panels(1, 1, size=(WIDTH, LINE * len(known) + 1.0))
    for place, (_, each) in enumerate(known):
        draw_arm(axes, place, each)
    axes.set_yticks(range(len(known)), [arm.label for arm, _ in known])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("success on the test tasks")
    figures.percent(axes.xaxis)
    figures.legend(figure)
    return figure


def draw_arm(axes: Axes, place: int, found: Summary) -> None:
    """Draw an arm's mean, interval and seeds at a position on the vertical axis; a single seed has no interval."""
    places = [place] * len(found.seeds)
    axes.plot(found.seeds, places, "o", color=MUTED, markersize=3.5, label="a seed")
    if found.reach is not None:
        ends = [max(found.mean - found.reach, 0.0), min(found.mean + found.reach, 1.0)]
        axes.plot(ends, [place] * 2, color=BLUE, label="95% interval of the mean over seeds")
    axes.plot([found.mean], [place], "|", color=INK, markersize=12, label="mean")
