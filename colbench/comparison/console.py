"""A comparison as text for the terminal. Two runs get a table of measures, more runs get tables of runs and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import TYPE_CHECKING

from colbench.comparison import text
from colbench.comparison.model import Comparison, DomainComparison, Measure, Pair, RunMeans
from colbench.console import console, print_wide, printable
from colbench.numbers import count, p_value, sentence

if TYPE_CHECKING:
    from rich.table import Table

ANSWERS = 6
"""Maximum number of measures of the answer to show; --json and --html have all of them."""
PAIRS = 15
"""Maximum number of pairs to show."""
TASKS = 3
"""Maximum number of differing tasks to name."""
SIDE_BY_SIDE = ("ask_f1", "turns", "agent_words", "agent_tokens", "cost")
"""Measures in the table of more than two runs, after the headline measure and the leading metric of the domain."""
LOWER = "↓: lower is better"


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: at most about 40 lines for one domain."""
    for run in comparison.runs:
        _line(f"{run.letter}  {run.name}  [{run.human}; {run.path}]")
    for mismatch in comparison.mismatches:
        _line(f"Different settings: {mismatch.pin}: {' | '.join(mismatch.values)}")
    for note in comparison.notes:
        _line(f"Warning: {note}")
    for domain in comparison.domains.values():
        _domain(comparison, domain)


def _domain(comparison: Comparison, domain: DomainComparison) -> None:
    shown = count(domain.tasks, "common task")
    _line(f"\n{domain.title}: {shown}; {domain.mode} scoring", bold=True)
    if len(comparison.runs) == 2:
        _two(comparison, domain, domain.pairs[0])
    else:
        print_wide(_runs_table(comparison, domain))
        console().print()
        print_wide(_pairs_table(comparison, domain))
        if len(domain.pairs) > PAIRS:
            _line(f"… {len(domain.pairs) - PAIRS:,} more pairs; --html FILE and --json show them")
        _left_out(comparison, domain.pairs[:PAIRS])
    _differing(comparison, domain)


def _two(comparison: Comparison, domain: DomainComparison, pair: Pair) -> None:
    print_wide(_measures_table(comparison, domain, pair))
    mine, theirs = comparison.runs[pair.mine].letter, comparison.runs[pair.theirs].letter
    verdict = text.who_is_ahead(mine, theirs, pair)
    for line in (
        f"{verdict}: {text.evidence(domain, pair)}.",
        text.settling(domain, pair),
        *text.reasons(comparison, pair),
    ):
        if line:
            _line(line)
    if pair.left_out:
        _line(
            f"Left out: {count(pair.left_out, 'cell')} that at least one of the two runs has not scored."
        )


def _left_out(comparison: Comparison, pairs: Iterable[Pair]) -> None:
    parts = [f"{pair.left_out:,} of {_name(comparison, pair)}" for pair in pairs if pair.left_out]
    if parts:
        _line(
            f"Left out: cells that at least one of the two runs has not scored: {', '.join(parts)}."
        )


def _name(comparison: Comparison, pair: Pair) -> str:
    return f"{comparison.runs[pair.mine].letter} − {comparison.runs[pair.theirs].letter}"


def _measures_table(comparison: Comparison, domain: DomainComparison, pair: Pair) -> Table:
    mine, theirs = comparison.runs[pair.mine].letter, comparison.runs[pair.theirs].letter
    table = _table(mine, theirs, f"{mine} − {theirs}", "95% interval", "p", "won–tied\n–lost")
    found = list(text.with_information(domain, pair))
    for group, title in text.GROUPS.items():
        rows = [each for each in found if each[0].group == group]
        if rows:
            _row(table, title, style="bold")
        for measure, each in rows[:ANSWERS] if group == "answer" else rows:
            _row(
                table,
                f"  {_marked(measure, text.labeled(domain, measure, each))}",
                text.measured(measure, each.mine),
                text.measured(measure, each.theirs),
                text.difference(measure, each.mean.mean or 0.0),
                text.difference_range(measure, each.mean),
                p_value(each.test.adjusted),
                text.wins(each),
            )
    table.caption = f"{LOWER}; won: {mine} has the better value"
    return table


def _marked(measure: Measure, label: str) -> str:
    return f"{label}\u00a0↓" if measure.direction == "lower" else label


def _runs_table(comparison: Comparison, domain: DomainComparison) -> Table:
    measures = list(_side_by_side(domain))
    heads = (sentence(measure.label).replace(" ", "\n", 1) for measure in measures)
    table = _table(*map(_marked, measures, heads))
    for run, found in zip(comparison.runs, domain.runs, strict=True):
        cells = (text.measured(measure, _mean(found, measure)) for measure in measures)
        _row(table, f"{run.letter}  {run.name}", *cells)
    table.caption = LOWER
    return table


def _side_by_side(domain: DomainComparison) -> Iterator[Measure]:
    known = {measure.name: measure for measure in domain.measures}
    for name in dict.fromkeys((domain.headline, domain.value, *SIDE_BY_SIDE)):
        if name in known:
            yield known[name]


def _pairs_table(comparison: Comparison, domain: DomainComparison) -> Table:
    from rich.text import Text

    measure = next((each for each in domain.measures if each.name == domain.headline), None)
    unit = measure.unit if measure and measure.unit != "%" else "points"
    table = _table(unit, "95% interval", "p (Holm)", "won–tied–lost", "verdict")
    table.title = Text(sentence(measure.label if measure else domain.headline))
    for pair in domain.pairs[:PAIRS]:
        found = pair.differences.get(domain.headline)
        name = _name(comparison, pair)
        if found and measure:
            _row(
                table,
                name,
                text.difference(measure, found.mean.mean or 0.0),
                text.difference_range(measure, found.mean),
                p_value(found.test.adjusted),
                text.wins(found),
                pair.verdict,
            )
        else:
            _row(table, name, "–", "–", "–", "–", text.NOTHING_SCORED)
    return table


def _differing(comparison: Comparison, domain: DomainComparison) -> None:
    if not domain.differing:
        _line(text.equal_results(domain))
        return
    measure = domain.measure(domain.value)
    first = "; ".join(
        f"{task.task_id} ({_values(measure, task.values)})" for task in domain.differing[:TASKS]
    )
    number = f"{len(domain.differing):,} of {count(domain.tasks, 'task')}"
    _line(f"Results differ on {number}, most on {first}.")
    shown = domain.differing[0].task_id
    for run in comparison.runs[:2]:
        _line(f"  colbench view {quote(run.path)} --task {quote(shown)}")


def _values(measure: Measure, values: Iterable[float | None]) -> str:
    return " / ".join(text.measured(measure, value) for value in values)


def _mean(found: RunMeans, measure: Measure) -> float | None:
    mean = found.means.get(measure.name)
    return mean.mean if mean else None


def _table(*heads: str) -> Table:
    """Return an empty table: a column of names, and a column of numbers for each of `heads`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=0,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column(overflow="ellipsis", min_width=5)
    for head in heads:
        table.add_column(Text(head), justify="right", no_wrap=True)
    return table


def _row(table: Table, *cells: str, style: str = "") -> None:
    """Add a row. Brackets in the row's text, such as brackets in a run's name, are not markup."""
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells), style=style)


def _line(line: str, *, bold: bool = False) -> None:
    from rich.text import Text

    style = "bold" if bold else ""
    console().print(Text(printable(line), style=style), soft_wrap=True)
