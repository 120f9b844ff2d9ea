"""The tables of the test tasks, as Markdown: methods next to the paper, against one another, in the paper's order."""

from __future__ import annotations

from colbench.numbers import (
    NOTHING,
    number,
    p_value,
    percent,
    percent_with_range,
    points_with_range,
    signed,
)
from sweet_rl_trainer.study.first.methods import NAMED, Group, Method
from sweet_rl_trainer.study.first.results import Results
from sweet_rl_trainer.study.first.tables import (
    Difference,
    adjusted_p,
    against,
    find,
    full_label,
    on_tests,
    orderings,
    planned,
    rows_of,
)
from sweet_rl_trainer.study.text import code, escape, table

RIVALS = ("mtdpo", "sweet")
"""Methods that all others are held against."""


def command(results: Results, *only: str) -> str:
    """Return the command that makes the study, or the part of some methods."""
    size = results.scale.removesuffix("-quick")
    seeds = max((row.seed for row in results.rows), default=0) + 1
    parts = [f"sweet-rl study --scale {size} --seeds {seeds}"]
    parts += ["--quick"] if size != results.scale else []
    return " ".join(parts + [f"--only {name}" for name in only])


def measured(results: Results, group: Group) -> str:
    """Return a group's methods on the test tasks, next to the paper's numbers, and the command to repeat them."""
    heads = (
        "method",
        "paper: success ",
        "success (95 % interval) ",
        "each seed ",
        "paper: tests passed ",
        "tests passed (95 % interval) ",
        "turns ",
        "unanswered ",
        "tokens a reply ",
    )
    members = [each for each in planned(results) if each.group == group]
    if not members:
        return "None in this study."
    return "\n\n".join(
        (
            table(heads, (_measured(results, each) for each in members)),
            table(
                ("method", "learning rate (step), of each seed", "command", "its dialogues"),
                (_repeated(results, each) for each in members),
            ),
        )
    )


def _measured(results: Results, method: Method) -> list[str]:
    found = find(on_tests(results, method.name))
    paper, paper_passed = (
        NOTHING if each is None else f"{each:.1f} %" for each in (method.paper, method.paper_passed)
    )
    if not found:
        return [escape(full_label(method)), paper, "missing", *[NOTHING] * 6]
    return [
        escape(full_label(method)),
        paper,
        percent_with_range(found.success),
        " · ".join(f"{value * 100:.1f}" for value in found.seeds.values()),
        paper_passed,
        percent_with_range(found.passed),
        number(found.turns),
        percent(found.unanswered),
        number(found.reply),
    ]


def _repeated(results: Results, method: Method) -> list[str]:
    rows = rows_of(results, method.name)
    chosen = [f"{row.rate:g} ({row.step:,})" for row in rows] if method.goal else []
    return [
        escape(full_label(method)),
        " · ".join(chosen) or NOTHING,
        code(command(results, method.name)),
        ", ".join(code(row.folder) for row in rows) or NOTHING,
    ]


def compared(results: Results, rival: str) -> str | None:
    """Return all methods against one of them, paired by task."""
    found = against(results, rival)
    if not found:
        return None
    adjusted = adjusted_p(found)
    heads = (
        f"method (its success less that of {full_label(NAMED[rival])})",
        "points (95 % interval by task) ",
        "each seed ",
        "points (95 % interval by seed) ",
        "verdict",
        "p ",
        "p, Holm ",
    )
    lines = [
        [
            escape(full_label(NAMED[name])),
            points_with_range(each.points),
            seeds(each),
            points_by_seed(each),
            each.verdict,
            p_value(each.p),
            p_value(adjusted[name]),
        ]
        for name, each in found.items()
    ]
    return table(heads, lines)


def seeds(found: Difference) -> str:
    """Return the difference of each seed in points."""
    return " · ".join(signed(value * 100) for value in found.seeds)


def points_by_seed(found: Difference) -> str:
    """Return the mean over seeds and the half-width of its interval, in points."""
    if found.by_seed is None:
        return NOTHING
    mean, reach = found.by_seed
    return f"{signed(mean * 100)} ± {reach * 100:.1f}"


def ordered(results: Results) -> str:
    """Return the paper's orderings and this study's."""
    heads = (
        "in the paper above",
        "below",
        "paper: points ",
        "ours: points (95 % interval) ",
        "seeds in this order ",
        "ours",
    )
    lines = []
    for each in orderings(results):
        alike = (
            f"{sum(value > 0 for value in each.ours.seeds)} of {len(each.ours.seeds)}"
            if each.ours
            else NOTHING
        )
        lines.append(
            [
                escape(full_label(each.better)),
                escape(full_label(each.worse)),
                f"{each.paper:.1f} ± {each.noise:.1f}",
                points_with_range(each.ours.points) if each.ours else NOTHING,
                alike,
                each.verdict,
            ]
        )
    return table(heads, lines)
