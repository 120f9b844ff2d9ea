"""The picture of the report: success on the test tasks, by arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sweet_rl_trainer import figures
from sweet_rl_trainer.figures import BLUE, INK, MUTED
from sweet_rl_trainer.study.arms import ARMS
from sweet_rl_trainer.study.measures import on_tests, success, summary
from sweet_rl_trainer.study.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, LINE = 8.2, 0.34
"""Inches: of the picture, and for each arm."""


@figures.style()
def draw(results: Results) -> Figure:
    """Draw each arm's mean, its interval over tasks, and its seeds, one arm below another."""
    found = [(arm, summary(on_tests(results, arm.name), success)) for arm in ARMS]
    known = [(arm, each) for arm, each in found if each]
    figure, ((axes,),) = figures.panels(1, 1, size=(WIDTH, LINE * len(known) + 1.0))
    for place, (_, each) in enumerate(known):
        low, high, mean = (each.tasks.low or 0.0, each.tasks.high or 0.0, each.tasks.mean or 0.0)
        seeds = axes.plot(each.seeds, [place] * len(each.seeds), "o", color=MUTED, markersize=3.5)
        interval = axes.plot([low, high], [place] * 2, color=BLUE)
        middle = axes.plot([mean], [place], "|", color=INK, markersize=12)
        if not place:
            seeds[0].set_label("a seed")
            interval[0].set_label("95 % interval, by task")
            middle[0].set_label("mean")
    axes.set_yticks(range(len(known)), [arm.label for arm, _ in known])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("success on the test tasks")
    figures.percent(axes.xaxis)
    figures.legend(figure)
    return figure
