"""The report of a study in one world: Markdown and a picture, from the results alone, which may be incomplete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from msgspec.structs import replace

from colbench.numbers import (
    NOTHING,
    number,
    percent,
    percent_with_range,
    points_with_range,
    signed,
)
from sweet_rl_trainer.figures import save
from sweet_rl_trainer.study.arms import ARMS, NAMED, Arm
from sweet_rl_trainer.study.choose import best_rate, by_rate, quality
from sweet_rl_trainer.study.measures import (
    MEASURES,
    Summary,
    difference,
    exchanged,
    on_tests,
    success,
    summary,
)
from sweet_rl_trainer.study.plots import draw
from sweet_rl_trainer.study.results import BASE, ORACLE, Results
from sweet_rl_trainer.study.text import escape, table

if TYPE_CHECKING:
    from rich.table import Table

PAGE, PICTURE = "report.md", "success"
QUICK = "quick"
"""The world that has a flag of its own, `--quick`."""
RIVAL = "rft"
"""The arm with which all others are compared."""
ZERO_SHOT, WRITES = (0.15, 0.40), 0.80
"""Zero-shot success of a suitable base (a range), and minimum success of a base that can write code.

The minimum applies to dialogues in which the oracle asks.
"""


def write(results: Results, folder: Path) -> Path:
    """Write `report.md` into a folder, and return its path.

    If an arm has results, also write the picture, `success.svg` and `success.png`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if results.rows:
        save(draw(results), folder / PICTURE, "Success on the test tasks, by arm and seed")
    page = folder / PAGE
    page.write_text(markdown(results), "utf-8")
    return page


def markdown(results: Results) -> str:
    """Return the study's report as Markdown."""
    head = f"# Study in world `{results.name}`\n\n{escape(results.world['what'])}."
    sections: dict[str, Callable[[Results], str]] = {
        "The base": based,
        "The arms": described,
        "Results": measured,
        f"Against {NAMED[RIVAL].label}": compared,
        "Asking and writing": separated,
        "Budgets": budgets,
        "Learning rates": rates,
        "Cost": cost,
    }
    parts = [f"## {title}\n\n{make(results)}" for title, make in sections.items()]
    world = f"--{QUICK}" if results.name == QUICK else f"--world {results.name}"
    command = f"sweet-rl study {world} --seeds {results.seeds}"
    tail = f"Made by `{command}` with ColBench {results.version}. {escape(results.machine)}."
    return "\n\n".join([head, *parts, tail]) + "\n"


def _arms(results: Results) -> list[Arm]:
    """Return the arms that the results have a row for."""
    names = {row.arm for row in results.rows}
    return [arm for arm in ARMS if arm.name in names]


def based(results: Results) -> str:
    """Return a paragraph with the base's success rates, and what it must learn: to ask, or to ask and to write code."""
    alone = summary(on_tests(results, BASE), success)
    told_all = summary(exchanged(results, ORACLE, BASE), success)
    if alone is None or told_all is None:
        return "Not measured."
    low, high = ZERO_SHOT
    lacks = "asking" if told_all.mean >= WRITES else "asking and writing code"
    said = (
        f"Its zero-shot success is {percent(alone.mean)}, and {percent(told_all.mean)} when "
        f"the oracle asks. What it lacks is {lacks} (with the oracle's questions, a base that can write code "
        f"succeeds in at least {percent(WRITES)} of the dialogues)."
    )
    if low <= alone.mean <= high:
        return said
    return f"{said} **Not fit for a comparison**, which needs {percent(low)} to {percent(high)} zero-shot."


def described(results: Results) -> str:
    """Return a table that gives the number of iterations and the training of each arm."""
    most = results.world["iterations"]
    return table(
        ("arm", "iterations ", "training"),
        (
            [escape(arm.label), f"{min(arm.iterations, most) if arm.goal else 0}", escape(arm.what)]
            for arm in _arms(results)
        ),
    )


def measured(results: Results) -> str:
    """Return the table of all measures on the test tasks."""
    lines = []
    for arm in _arms(results):
        tests = on_tests(results, arm.name)
        found = [summary(tests, measure) for measure in MEASURES.values()]
        lines.append([escape(arm.label), f"{len(tests)}", *map(_share, found), _each(found[0])])
    heads = ("arm", "seeds ", *(f"{name} " for name in MEASURES), "success of each seed ")
    text = (
        "Each entry is a mean over seeds with two 95% intervals. The one in parentheses is over tasks (each task is "
        "first averaged over seeds). The one after ± is over seeds (Student's t)."
    )
    return "\n\n".join([text, table(heads, lines), *_stopped(results)])


def _stopped(results: Results) -> Iterator[str]:
    """Yield a sentence that lists the policies whose training stopped early; yield nothing if no training did."""
    found = [row for row in results.rows if row.stopped is not None]
    if found:
        rows = ", ".join(
            f"{escape(NAMED[row.arm].label)}, seed {row.seed} (iteration {row.stopped})"
            for row in found
        )
        yield f"Policies whose dialogues left nothing to train on were not trained further: {rows}."


def compared(results: Results) -> str:
    """Return the table of each arm's difference from the arm `RIVAL`, paired by seed and task."""
    lines = []
    for arm in _arms(results):
        found = difference(on_tests(results, arm.name), on_tests(results, RIVAL), success)
        if found and arm.name != RIVAL:
            verdict = "not decided"
            if found.decided:
                verdict = "above" if found.mean > 0 else "below"
            lines.append([escape(arm.label), _points(found), _each_signed(found), verdict])
    heads = ("arm", "points of success ", "each seed ", "verdict")
    text = "A difference is decided if the intervals over tasks and over seeds both exclude 0."
    return f"{text}\n\n{table(heads, lines)}"


def separated(results: Results) -> str:
    """Return the table of the success of exchanged arms: alone, and combined with another model that asks or writes."""
    names = [arm.name for arm in ARMS if exchanged(results, arm.name, ORACLE)]
    lines = []
    for name in names:
        pairs = ((name, name), (name, ORACLE), (ORACLE, name), (name, BASE))
        found = [summary(exchanged(results, *pair), success) for pair in pairs]
        lines.append([escape(NAMED[name].label), *map(_share, found)])
    heads = ("arm", "asks and writes ", "oracle writes ", "oracle asks ", "base writes ")
    text = "The oracle asks about every open decision, or writes the best answer that the facts revealed so far allow."
    return f"{text}\n\n{table(heads, lines)}"


def budgets(results: Results) -> str:
    """Return the table of the budget of each arm; each number is a mean over seeds."""
    return table(
        (
            "arm",
            "dialogues ",
            "candidates ",
            "critic steps ",
            "steps ",
            "supervised tokens per step ",
            "evaluation dialogues ",
            "minutes ",
        ),
        (_budget(results, arm) for arm in _arms(results)),
    )


def _budget(results: Results, arm: Arm) -> list[str]:
    found = [row.budget for row in results.rows if row.arm == arm.name]

    def mean(values: Iterator[float]) -> float:
        return sum(values) / len(found)

    return [
        escape(arm.label),
        f"{mean(each.dialogues for each in found):,.0f}",
        f"{mean(each.candidates for each in found):,.0f}",
        f"{mean(each.critic_steps for each in found):,.0f}",
        f"{mean(each.steps for each in found):,.0f}",
        _tokens([each.supervised for each in found]),
        f"{mean(each.evaluations for each in found):,.0f}",
        number(mean(each.seconds / 60 for each in found)),
    ]


def _tokens(counts: Sequence[float | None]) -> str:
    """Return the mean of the counts that are known."""
    known = [each for each in counts if each is not None]
    return f"{fmean(known):,.0f}" if known else NOTHING


def rates(results: Results) -> str:
    """Return the table of the learning rates tried, with the chosen one in bold."""
    lines = []
    for arm in ARMS:
        outcomes = by_rate(each for each in results.tries if each.arm == arm.name)
        if outcomes:
            best = best_rate(outcomes)
            shown = (
                f"{'**' if rate == best else ''}{rate:g}: {percent(quality(each)[0])}"
                f"{'**' if rate == best else ''}"
                for rate, each in outcomes.items()
            )
            lines.append([escape(arm.label), " · ".join(shown)])
    for arm in _arms(results):
        if arm.rate_of:
            lines.append([escape(arm.label), f"that of {escape(NAMED[arm.rate_of].label)}"])
    return table(("arm", "rate: success on the validation tasks"), lines)


def cost(results: Results) -> str:
    """Return a table of the time that each stage takes."""
    seconds: dict[str, list[float]] = {}
    for each in results.costs:
        seconds.setdefault(each.stage, []).append(each.seconds)
    lines = [
        [stage, f"{len(times)}", number(fmean(times)), number(sum(times) / 60)]
        for stage, times in sorted(seconds.items(), key=lambda item: -sum(item[1]))
    ]
    return table(("stage", "runs ", "seconds per run ", "total minutes "), lines)


def _share(found: Summary | None) -> str:
    if found is None:
        return NOTHING
    return _with_reach(percent_with_range(replace(found.tasks, mean=found.mean)), found)


def _points(found: Summary) -> str:
    return _with_reach(points_with_range(replace(found.tasks, mean=found.mean)), found)


def _with_reach(text: str, found: Summary) -> str:
    return text if found.reach is None else f"{text} ± {found.reach * 100:.1f}"


def _each(found: Summary | None) -> str:
    return " · ".join(f"{value * 100:.1f}" for value in found.seeds) if found else NOTHING


def _each_signed(found: Summary) -> str:
    return " · ".join(signed(value * 100) for value in found.seeds)


def console_table(results: Results) -> Table:
    """Return the success of each arm for the console."""
    from rich.table import Table

    found = Table("arm", "seeds", "success on the test tasks")
    for arm in _arms(results):
        tests = on_tests(results, arm.name)
        found.add_row(arm.label, f"{len(tests)}", _share(summary(tests, success)))
    return found
