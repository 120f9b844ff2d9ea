"""The picture of the benchmark: the share of pairs that each estimator orders correctly, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sweet_rl_trainer import figures
from sweet_rl_trainer.creditbench.results import Results
from sweet_rl_trainer.creditbench.truths import MAIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = {
    "auc": "relevant above useless",
    "questions": "question, question",
    "mixed": "question, answer",
}
"""The measures of the panels, with their titles."""
ROW = 0.22
"""Height in inches for each estimator."""
PANEL, CHARACTER = 2.15, 0.075
"""Minimum width of a panel, and width of one character of an estimator's name, both in inches."""


@figures.style()
def draw(results: Results) -> Figure:
    """Return the figure: a panel for each measure, a row for each estimator, and a line at 50%, the level of chance."""
    names = [each.name for each in results.estimators]
    width = PANEL + CHARACTER * max(map(len, names)) / len(SHOWN)
    figure, (panels,) = figures.panels(
        1, len(SHOWN), size=(width, 0.9 + ROW * len(names)), sharey=True
    )
    for axes, (measure, title) in zip(panels, SHOWN.items(), strict=True):
        axes.set_title(f"{title}, %")
        axes.axvline(0.5, color=figures.MUTED, linewidth=0.8)
        for row, each in enumerate(results.estimators):
            found = each.agreements[MAIN].measures.get(measure)
            if found is None or found.mean is None or found.low is None or found.high is None:
                continue
            axes.plot([found.low, found.high], [row, row], color=figures.BLUE)
            axes.plot([found.mean], [row], marker="o", color=figures.BLUE, clip_on=False)
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        figures.percent(axes.xaxis, "")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    return figure
