"""The report of a study: Markdown and charts, computed from its results alone, which may be unfinished.

The text is `report.md`, where `{{ … }}` stands for a computed part.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.errors import DataError
from colbench.numbers import count, number, percent, percent_with_range
from sweet_rl_trainer.figures import save
from sweet_rl_trainer.study.first import comparison, exchanges, following, paper_diff, sections
from sweet_rl_trainer.study.first.headline import sentences
from sweet_rl_trainer.study.first.methods import METHODS, NAMED, QUESTIONS, TURNS
from sweet_rl_trainer.study.first.missing import absent, missing
from sweet_rl_trainer.study.first.plots import draw
from sweet_rl_trainer.study.first.results import Results
from sweet_rl_trainer.study.first.stale import MARK, marked, notice, stale
from sweet_rl_trainer.study.first.tables import find, full_label, on_tests, planned
from sweet_rl_trainer.study.text import code, escape, listed, plain

if TYPE_CHECKING:
    from rich.table import Table

PAGE, CHARTS = "reproduction.md", "reproduction"
"""The report and the folder of its charts, in the same folder."""
TITLES = {
    "success": "Success on the test tasks, by method",
    "training-main": "The paper's methods along training, on the validation tasks",
    "training-ablation": "Ablations along training, on the validation tasks",
    "training-remedy": "Remedies along training, on the validation tasks",
    "best-of-n": "Success of the best of n dialogues, by critic",
    "scaling": "Success by the share of the training tasks",
    "turns": "Dialogues by their number of turns",
}
"""What each chart shows, for readers who cannot see it."""


def write(results: Results, folder: Path) -> Path:
    """Write `reproduction.md` and `reproduction/*.svg` and `.png` into a folder; return the path of the former.

    Raises DataError for results of a method that this version does not know.
    """
    parts = (results.rows, results.critics, results.scaling, results.credits)
    known = {*NAMED, TURNS.name, QUESTIONS.name}
    if unknown := {each.method for part in parts for each in part} - known:
        names = ", ".join(sorted(unknown))
        raise DataError(
            f"results of unknown methods: {names}; those of ColBench {results.version} can report them"
        )
    charts = draw(results)
    (folder / CHARTS).mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        save(chart, folder / CHARTS / name, TITLES[name])
    page = folder / PAGE
    page.write_text(markdown(results, charts), "utf-8")
    return page


def markdown(results: Results, charts: Collection[str]) -> str:
    """Return the report; `charts` are the names of the charts that exist."""
    template = files("sweet_rl_trainer").joinpath("study", "first", "report.md").read_text("utf-8")
    found: dict[str, str | None] = {
        **_facts(results),
        "main": comparison.measured(results, "main"),
        "ablation": comparison.measured(results, "ablation"),
        "remedy": comparison.measured(results, "remedy"),
        "against mtdpo": comparison.compared(results, "mtdpo"),
        "against sweet": comparison.compared(results, "sweet"),
        "orderings": comparison.ordered(results),
        "trained": sections.trained(results),
        "tried": sections.tried(results),
        "judged": sections.judged(results),
        "timed": sections.timed(results),
        "credited": sections.credited(results),
        "followed": following.followed(results),
        "scaled": sections.scaled(results),
        "turned": sections.turned(results),
        "exchanged": exchanges.exchanged(results),
        "costs": sections.costs(results),
        "settings": paper_diff.settings(results.study),
        "methods": paper_diff.methods(planned(results)),
        "budget": paper_diff.budget(results.study),
        "all settings": paper_diff.everything(results.study),
    }
    for name, title in TITLES.items():
        picture = f"![{title}; the numbers are in the tables]({CHARTS}/{name}.svg)"
        found[f"chart {name}"] = picture if name in charts else ""

    left_out, old = absent(results), stale(results)

    def put(place: re.Match[str]) -> str:
        content = found[place[1]]
        if content is None:
            return "None in this study." if place[1] in left_out else "Not there yet."
        return marked(content, old)

    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\{\{ (.+?) \}\}", put, template))


def _facts(results: Results) -> dict[str, str | None]:
    """Return the computed parts that stand within sentences."""
    base = ", ".join(f"{key} {plain(each)}" for key, each in results.base.items())
    lacking = [f"- {each}" for each in missing(results)]
    what = results.study.get("what")
    return {
        "command": code(comparison.command(results)),
        "base": f" ({escape(base)})" if base else "",
        "scale": escape(results.scale) + (f": {escape(plain(what))}" if what else ""),
        "machine": escape(results.machine),
        "version": escape(results.version),
        "headline": "\n".join(f"- {each}" for each in sentences(results)),
        "missing": "\n".join(["**Unfinished.** Missing:", "", *lacking]) if lacking else "",
        "stale": notice(results),
        "tested": _tested(results),
    }


def _tested(results: Results) -> str:
    tests = [each for method in METHODS for each in on_tests(results, method.name).values()]
    if not tests:
        return ""
    tasks = {outcome.task for outcomes in tests for outcome in outcomes}
    sizes = listed([f"{size:,}" for size in sorted({len(each) for each in tests})])
    return f"{count(len(tasks), 'task')}, {sizes} dialogues of each method with each seed. "


def summary(results: Results) -> Table:
    """Return the table for the console: each method on the test tasks."""
    from rich.table import Table

    shown = Table("test tasks", "success (95 % interval)", "seeds", "turns", "unanswered", box=None)
    old = stale(results)
    for method in METHODS:
        found = find(on_tests(results, method.name))
        if found:
            seeds = " ".join(f"{value * 100:.1f}" for value in found.seeds.values())
            cells = (
                percent_with_range(found.success),
                seeds,
                number(found.turns),
                percent(found.unanswered),
            )
            mark = f" {MARK}" if method in old else ""
            shown.add_row(full_label(method) + mark, *cells)
    return shown
