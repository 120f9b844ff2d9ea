"""The charts of the report; their numbers also stand in its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from colbench.numbers import percent
from colbench.stats import Interval
from sweet_rl_trainer import figures
from sweet_rl_trainer.figures import BLUE, GRID, INK, MUTED, ORANGE, SERIES
from sweet_rl_trainer.study.first.curves import (
    MEASURES,
    Mean,
    Share,
    by_turns,
    curves_of,
    mean_curve,
    scaling,
)
from sweet_rl_trainer.study.first.judges import Bounds, Judge, distinct, judges
from sweet_rl_trainer.study.first.methods import METHODS, NAMED, Group, Method
from sweet_rl_trainer.study.first.results import Results, Step
from sweet_rl_trainer.study.first.tables import Found, find, full_label, on_tests, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS: dict[Group, str] = {
    "main": "The paper's comparison",
    "ablation": "Ablations",
    "remedy": "Remedies",
}
COLUMNS = 3
"""The number of panels in a row where each method has one."""
SUCCESS = "success, %"
INTERVAL = "95 % interval, by task"
Options = dict[str, Any]
Curves = Mapping[int, tuple[Step, ...]]
"""Steps of training by seed."""


@figures.style()
def draw(results: Results) -> dict[str, Figure]:
    """Return the charts for which there are numbers, by name."""
    charts = {
        "success": success(results),
        **{f"training-{group}": training(results, group) for group in GROUPS},
        "best-of-n": best_of_n(judges(results)),
        "scaling": scaled(results),
        "turns": turns(results),
    }
    return {name: chart for name, chart in charts.items() if chart}


def success(results: Results) -> Figure | None:
    """Draw each method's success on the test tasks: mean, interval and seeds, one method below the other."""
    found = [(each, find(on_tests(results, each.name))) for each in METHODS]
    groups = {
        title: members
        for group, title in GROUPS.items()
        if (members := [(one, of) for one, of in found if of and one.group == group])
    }
    if not groups:
        return None
    sizes = [len(members) for members in groups.values()]
    size = 8.2, (0.27 * sum(sizes) + 1.0) / len(sizes)
    figure, rows = figures.panels(len(sizes), 1, size=size, sharex=True, height_ratios=sizes)
    for (axes,), (title, members) in zip(rows, groups.items(), strict=True):
        axes.set_title(title)
        _on_lines(axes, members)
    axes.set_xlim(left=0)
    axes.set_xlabel("success on the test tasks")
    figures.percent(axes.xaxis)
    figures.legend(figure)
    return figure


def _on_lines(axes: Axes, members: Sequence[tuple[Method, Found]]) -> None:
    axes.set_yticks(range(len(members)), [full_label(method) for method, _ in members])
    axes.set_ylim(len(members) - 0.4, -0.6)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    for place, (_, found) in enumerate(members):
        _on_a_line(axes, place, found)


def _on_a_line(axes: Axes, place: int, found: Found) -> None:
    mean, low, high = _ends(found.success)
    axes.plot([low, high], [place, place], color=BLUE, label=INTERVAL)
    axes.plot([mean], [place], "o", color=BLUE, label="mean over seeds", clip_on=False)
    seeds = list(found.seeds.values())
    below = [place + 0.3] * len(seeds)
    figures.ring(axes, seeds, below, MUTED, markersize=3.5, label="each seed")
    right_of: Options = {
        "transform": axes.get_yaxis_transform(),
        "verticalalignment": "center_baseline",
    }
    axes.text(1.02, place, percent(mean), **right_of)


def _ends(interval: Interval) -> Bounds:
    return interval.mean or 0.0, interval.low or 0.0, interval.high or 0.0


def training(results: Results, group: Group) -> Figure | None:
    """Draw a group's methods along training: a row for each method, a column for each measure.

    None if none of them was trained.
    """
    members = [each.name for each in METHODS if each.group == group]
    curves = {name: found for name in members if (found := curves_of(results, name))}
    if not curves:
        return None
    figure, rows = figures.panels(len(curves), len(MEASURES), size=(2.5, 1.7), sharey="col")
    for row, (name, found) in zip(rows, curves.items(), strict=True):
        means = mean_curve(found)
        chosen = {each.seed: each.step for each in rows_of(results, name)}
        row[0].set_title(full_label(NAMED[name]))
        for axes, measure in zip(row, MEASURES, strict=True):
            _along_training(axes, measure, found, means, chosen)
    for axes, measure in zip(rows[0], MEASURES, strict=True):
        axes.set_ylim(bottom=0)
        axes.annotate(
            measure, (0, 1), (0, 22), "axes fraction", textcoords="offset points", color=MUTED
        )
    for axes in rows[-1]:
        axes.set_xlabel("optimizer steps")
    figures.legend(figure)
    return figure


def _along_training(
    axes: Axes, measure: str, curves: Curves, means: Sequence[Mean], chosen: Mapping[int, int]
) -> None:
    steps = [each.step for each in means]
    if measure == SUCCESS:
        _band(axes, steps, [_ends(each.success) for each in means])
    values = [each.values[measure] for each in means]
    axes.plot(steps, values, color=BLUE, clip_on=False, zorder=2.5, label="mean over seeds")
    for seed, curve in curves.items():
        of_seed = {each.step: MEASURES[measure](each.outcomes) for each in curve}
        _seed_curve(axes, of_seed, chosen[seed])
    axes.set_xlim(0, max(curve[-1].step for curve in curves.values()))
    figures.ticks(axes.xaxis, 3)
    figures.ticks(axes.yaxis, 4)
    if measure.endswith("%"):
        figures.percent(axes.yaxis, sign="")


def _seed_curve(axes: Axes, values: Mapping[int, float], chosen: int) -> None:
    thin: Options = {"linewidth": 0.8, "alpha": 0.6, "clip_on": False}
    axes.plot(list(values), list(values.values()), color=BLUE, label="each seed", **thin)
    if chosen in values:
        figures.ring(axes, [chosen], [values[chosen]], ORANGE, label="chosen checkpoint", zorder=3)


def _band(axes: Axes, places: Sequence[float], bounds: Sequence[Bounds]) -> None:
    lows, highs = [low for _, low, _ in bounds], [high for _, _, high in bounds]
    axes.fill_between(places, lows, highs, color=BLUE, alpha=0.18, linewidth=0, label=INTERVAL)


def best_of_n(found: Sequence[Judge]) -> Figure | None:
    """Draw, for each critic, the success of the one of n dialogues that it scores highest."""
    known = {each.method.name: each for each in distinct(found) if len(each.best_of) > 1}
    if not known:
        return None
    sweet = known.get("sweet")

    def one(axes: Axes, method: Method) -> None:
        judge = known[method.name]
        counts, bounds = zip(*judge.best_of, strict=True)
        axes.axhline(bounds[0][0], color=MUTED, linestyle=":", label="any one dialogue")
        _band(axes, counts, bounds)
        axes.plot(counts, [mean for mean, _, _ in bounds], "o-", color=BLUE, label="this critic")
        if sweet and judge is not sweet:
            places = [n for n, _ in sweet.best_of]
            means = [mean for _, (mean, _, _) in sweet.best_of]
            axes.plot(places, means, "--", color=ORANGE, label="the critic of SWEET-RL")
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(n) for n in counts])
        axes.minorticks_off()

    return _by_method([each.method for each in known.values()], one, "n dialogues")


def _by_method(
    methods: Sequence[Method], one: Callable[[Axes, Method], None], across: str
) -> Figure:
    """Draw a panel for each method, all with the same axes; those up are shares."""
    rows = -(-len(methods) // COLUMNS)
    figure, grid = figures.panels(rows, COLUMNS, size=(3.8, 2.3), sharex=True, sharey=True)
    places = [axes for row in grid for axes in row]
    for axes, method in zip(places, methods, strict=False):
        one(axes, method)
        axes.set_title(full_label(method))
        axes.set_xlabel(across)
        axes.tick_params(labelbottom=True, labelleft=True)
    for axes in places[len(methods) :]:
        axes.remove()
    places[0].set_ylim(bottom=0)
    figures.percent(places[0].yaxis)
    figures.ticks(places[0].yaxis, 4)
    figures.legend(figure)
    return figure


def turns(results: Results) -> Figure | None:
    """Draw, for each method, its dialogues on the test tasks by their number of turns."""
    counts = {
        each.name: found for each in METHODS if (found := by_turns(on_tests(results, each.name)))
    }
    if not counts:
        return None
    numbers = {1, *(n for found in counts.values() for n in found)}
    first, last = min(numbers), max(numbers)

    def one(axes: Axes, method: Method) -> None:
        found = counts[method.name]
        total = sum(dialogues for dialogues, _ in found.values())
        of_all = [dialogues / total for dialogues, _ in found.values()]
        successes = [right / total for _, right in found.values()]
        edge: Options = {"edgecolor": MUTED, "linewidth": 0.6}
        axes.bar(list(found), of_all, color=GRID, label="share of all dialogues", **edge)
        axes.bar(list(found), successes, color=BLUE, label="successful ones among them", **edge)
        axes.set_xlim(first - 0.6, last + 0.6)
        axes.set_xticks(range(first, last + 1, 1 + last // 12))

    return _by_method([NAMED[name] for name in counts], one, "turns")


def scaled(results: Results) -> Figure | None:
    """Draw success on the test tasks over the share of the training tasks."""
    curves = scaling(results)
    if not curves:
        return None
    figure, ((axes,),) = figures.panels(1, 1, size=(7.5, 3.8))
    for n, (name, curve) in enumerate(curves.items()):
        aside = 0.01 * (n - (len(curves) - 1) / 2)
        _scaled_curve(axes, curve, SERIES[n % len(SERIES)], aside, NAMED[name].label)
    _base_line(axes, results)
    axes.set_xlim(0, 1.03)
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted({each.share for curve in curves.values() for each in curve}))
    axes.set_xlabel("share of the training tasks")
    axes.set_ylabel("success on the test tasks")
    figures.percent(axes.xaxis)
    figures.percent(axes.yaxis)
    figures.legend(figure, right=True)
    return figure


def _scaled_curve(
    axes: Axes, curve: Sequence[Share], series: tuple[str, str], aside: float, label: str
) -> None:
    color, dashes = series
    means, lows, highs = zip(*(_ends(each.found.success) for each in curve), strict=True)
    places = [each.share + aside for each in curve]
    axes.vlines(places, lows, highs, color=color, linewidth=1.2)
    axes.plot(places, means, "o", linestyle=dashes, color=color, label=label)


def _base_line(axes: Axes, results: Results) -> None:
    """Draw the base's success with the seeds of the curves."""
    seeds = {each.seed for each in results.scaling}
    tests = on_tests(results, "zero-shot")
    if base := find({seed: tests[seed] for seed in tests if seed in seeds}):
        dots: Options = {"linestyle": (0, (1, 3)), "linewidth": 1.2}
        label = NAMED["zero-shot"].label
        axes.axhline(base.success.mean or 0.0, color=MUTED, label=label, **dots)
