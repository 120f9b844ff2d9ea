"""The page of a comparison: one HTML file that works offline and needs no other file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from markupsafe import Markup
from msgspec import Struct

from colbench.comparison import text
from colbench.comparison.dialogues import BLOCK, RunDialogues, SideBySide
from colbench.comparison.domain import common_cells
from colbench.comparison.model import (
    Comparison,
    Difference,
    DomainComparison,
    Measure,
    Pair,
    RunName,
    TaskDifference,
)
from colbench.numbers import count, p_value, sentence
from colbench.registry import get_domain
from colbench.run import Run
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.charts import Dot, difference_bar, scatter_chart, stacked_bar
from colbench.web.templating import page_templates

TEMPLATES = page_templates("colbench.comparison")
TEMPLATES.filters |= {
    "measured": text.measured,
    "measured_range": text.measured_range,
    "equal_results": text.equal_results,
    "zip": zip,
}
COSTS = ("turns", "agent_words", "agent_tokens", "cost")
"""Measures of effort against which the charts plot quality."""
LARGE = 20_000
"""Maximum number of dialogues that a page shows of one domain, unless a single task has more.

If the tasks with different results have more dialogues, only the tasks with the largest differences are shown.
"""
COLUMNS = ("ask_f1", "turns", "human_words", "agent_words", "agent_tokens", "cost")
"""Measures in the table of runs, after the headline measure and the leading metric of the domain."""


class Line(Struct, frozen=True, kw_only=True):
    """One measure of a pair of runs, as a line of the page."""

    measure: Measure
    label: str
    found: Difference
    mine: str
    theirs: str
    difference: str
    range: str
    p: str
    wins: str
    least: str
    needs: str
    bar: Markup


class PairView(Struct, frozen=True, kw_only=True):
    """One run compared with another, as shown on the page."""

    mine: RunName
    theirs: RunName
    verdict: str
    title: str
    evidence: str
    notes: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Line]]]


class DomainView(Struct, frozen=True, kw_only=True):
    """A domain's part of the page."""

    found: DomainComparison
    columns: Sequence[Measure]
    charts: Sequence[tuple[str, Markup]]
    outcomes: Sequence[tuple[str, str]]
    """The outcomes that occur, each as a pair of name and label, such as `no_answer` and `no answer`."""
    stacks: Sequence[tuple[RunName, Markup, dict[str, int]]]
    """Each run's outcomes as a stacked bar, with their numbers."""
    pairs: Sequence[PairView]
    index: Sequence[dict[str, object]]
    """The tasks that the page's script lists: the tasks with different results, as far as they fit on the page."""
    blocks: Sequence[str]


def render_page(comparison: Comparison, runs: Sequence[Run], *, large: int = LARGE) -> str:
    """Return the page as HTML.

    `runs`: the compared runs in order. `large`: the maximum number of dialogues of one domain (see `LARGE`).
    """
    style = Markup().join(
        read_asset(*each)
        for each in (
            ("colbench.report", "page.css"),
            ("colbench.web", "charts.css"),
            ("colbench.comparison", "compare.css"),
        )
    )
    script = read_asset("colbench.comparison", "compare.js") + read_asset(
        "colbench.web", "linked.js"
    )
    return TEMPLATES.get_template("compare.html").render(
        comparison=comparison,
        title=" vs. ".join(run.name for run in comparison.runs),
        policy=content_security_policy(style_src=csp_hash(style), script_src=csp_hash(script)),
        style=style,
        script=script,
        block=BLOCK,
        domains=[
            _view(name, found, comparison, runs, large)
            for name, found in comparison.domains.items()
        ],
    )


def _most_different(
    found: DomainComparison, runs: Sequence[Run], large: int
) -> Sequence[TaskDifference]:
    """Return the tasks that differ most, with at most `large` dialogues in total; return at least one task."""
    trials = sum(run.config.trials for run in runs)
    return found.differing[: max(1, large // trials)]


def _blocks(
    name: str,
    shown: Sequence[TaskDifference],
    comparison: Comparison,
    runs: Sequence[Run],
) -> list[str]:
    """Return the HTML of the shown tasks and their dialogues, compressed in blocks of tasks (`SideBySide.blocks`)."""
    tasks = next(filter(None, (run.known_tasks() for run in runs)), [])
    by_id = {task.id: task for task in tasks}
    with ExitStack() as readers:
        dialogues = [
            RunDialogues(run_name, cells, readers.enter_context(run.folder.reader()))
            for run_name, cells, run in zip(
                comparison.runs, common_cells(runs, name), runs, strict=True
            )
        ]
        both = SideBySide(get_domain(name), comparison.domains[name], dialogues, by_id)
        return list(both.blocks(shown, TEMPLATES.get_template("task.html")))


def _view(
    name: str, found: DomainComparison, comparison: Comparison, runs: Sequence[Run], large: int
) -> DomainView:
    shown = _most_different(found, runs, large)
    outcomes = [
        (each, label)
        for each, label in text.OUTCOMES.items()
        if any(run.outcomes and run.outcomes.get(each) for run in found.runs)
    ]
    return DomainView(
        found=found,
        columns=[
            measure
            for each in dict.fromkeys((found.headline, found.value, *COLUMNS))
            for measure in found.measures
            if measure.name == each
        ],
        charts=list(_charts(comparison, found)),
        outcomes=outcomes,
        stacks=[
            (
                run,
                stacked_bar(_stack_title(run, means.outcomes), _counts(means.outcomes)),
                means.outcomes,
            )
            for run, means in zip(comparison.runs, found.runs, strict=True)
            if means.outcomes
        ],
        pairs=[_pair(comparison, found, pair) for pair in found.pairs],
        index=[
            {"id": task.task_id, "family": task.family, "values": task.values} for task in shown
        ],
        blocks=_blocks(name, shown, comparison, runs),
    )


def _counts(outcomes: dict[str, int]) -> list[tuple[str, int]]:
    return [(name, outcomes.get(name, 0)) for name in text.OUTCOMES]


def _stack_title(run: RunName, outcomes: dict[str, int]) -> str:
    return f"{run.name}: {text.failures(outcomes)}"


def _charts(comparison: Comparison, found: DomainComparison) -> Iterator[tuple[str, Markup]]:
    """Yield the title and the chart of the headline measure against each of the `COSTS` that every run has.

    Yield nothing if no dialogue is scored, because the headline measure is then missing.
    """
    headline = next((each for each in found.measures if each.name == found.headline), None)
    if headline is None:
        return
    for measure in found.measures:
        means = [(run.means.get(headline.name), run.means.get(measure.name)) for run in found.runs]
        dots = [
            Dot(name=name.name, address=f"#run-{name.letter}", x=x.mean, y=y.mean)
            for name, (y, x) in zip(comparison.runs, means, strict=True)
            if x and y and x.mean is not None and y.mean is not None
        ]
        if measure.name in COSTS and len(dots) == len(comparison.runs):
            title = f"{sentence(headline.label)} against {measure.label}"
            unit = f"{measure.label} per dialogue" + (", US $" if measure.unit == "$" else "")
            yield title, scatter_chart(title, unit, dots)


def _pair(comparison: Comparison, domain: DomainComparison, pair: Pair) -> PairView:
    lines = list(text.with_information(domain, pair))
    reach = {
        measure.name: _reach(found) if measure.unit != "%" else 1.0 for measure, found in lines
    }
    groups = [
        (title, [_line(domain, m, found, reach[m.name]) for m, found in lines if m.group == group])
        for group, title in text.GROUPS.items()
    ]
    left_out = (
        [
            f"Left out: {count(pair.left_out, 'cell')} that at least one of the two runs has not scored."
        ]
        if pair.left_out
        else []
    )
    mine, theirs = comparison.runs[pair.mine], comparison.runs[pair.theirs]
    return PairView(
        mine=mine,
        theirs=theirs,
        verdict=pair.verdict,
        title=text.who_is_ahead(
            f"{mine.letter} {mine.name}", f"{theirs.letter} {theirs.name}", pair
        ),
        evidence=text.evidence(domain, pair),
        notes=[
            each
            for each in (
                text.settling(domain, pair),
                *text.reasons(comparison, pair),
                *left_out,
            )
            if each
        ],
        groups=[each for each in groups if each[1]],
    )


def _line(domain: DomainComparison, measure: Measure, found: Difference, reach: float) -> Line:
    mean, low, high = found.mean.mean, found.mean.low, found.mean.high
    known = mean is not None and low is not None and high is not None and reach > 0
    return Line(
        measure=measure,
        label=sentence(text.labeled(domain, measure, found)),
        found=found,
        mine=text.measured(measure, found.mine),
        theirs=text.measured(measure, found.theirs),
        difference=text.difference(measure, mean or 0.0),
        range=text.difference_range(measure, found.mean),
        p=p_value(found.test.adjusted),
        wins=text.wins(found),
        least=text.in_words(measure, found.least_detectable).lstrip("+")
        if found.least_detectable is not None
        else "–",
        needs=text.needs(found) or "–",
        bar=difference_bar(mean or 0.0, low or 0.0, high or 0.0, reach) if known else Markup(),
    )


def _reach(found: Difference) -> float:
    """Return the upper limit of a scale, symmetric around 0, that covers a difference and its interval."""
    ends = (found.mean.low, found.mean.high, found.mean.mean)
    return 1.1 * max((abs(end) for end in ends if end is not None), default=0.0)
