"""The report as a table for the terminal, readable at 80 columns and without color."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING

from colbench.command import printable
from colbench.console import WIDTH, console, print_wide
from colbench.numbers import sentence
from colbench.registry import get_domain
from colbench.report.brief import brief
from colbench.report.fact import Fact, Section
from colbench.report.facts import grid_size, sections
from colbench.report.model import DomainReport, RunReport

LINES = 20
"""Maximum number of lines printed after a run with one domain and few warnings."""
FRAME = 3
"""Number of lines around the facts of a domain: its title, and blank lines."""
FEWEST = 6
"""Minimum number of lines available to the facts of a domain, even if more than `LINES` lines are then printed."""

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


def print_report(
    report: RunReport, folder: Path, *, short: bool = False, written: bool = True
) -> None:
    """Print the report of the run in a folder: its table, its warnings, and the locations of its pages.

    `short`: print only the most important facts and the commands that show more, in at most `LINES` lines if the run
    has one domain and few warnings. `written`: True if the pages exist; otherwise, their locations are left out.
    """
    files = pages(report, folder) if written else {}
    after = [f"{sentence(name)}: {page}" for name, page in files.items()]
    after += [f"{what}: {command}" for what, command in _next(report, folder)] if short else []
    warned = sum(len(wrap(f"Warning: {warning}", WIDTH)) for warning in report.warnings)
    lines = max(LINES - FRAME - len(after) - warned, FEWEST)
    print_wide(render_brief(report, lines) if short else render_table(report))
    for warning in report.warnings:
        text = f"Warning: {printable(warning)}"
        console().print(text, highlight=False, markup=False, soft_wrap=not console().is_terminal)
    for line in after:
        console().print(line, highlight=False, markup=False, soft_wrap=True)


def _next(report: RunReport, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands that show more of the run, each as (title, command)."""
    run = quote(str(folder))
    if any(each.failed and each.failed.classes for each in report.domains.values()):
        yield "Failed dialogues", f"colbench view {run} --failed (one dialogue: --task ID)"
    yield "Dialogues in a browser", f"colbench view {run}"
    yield "All numbers", f"colbench report {run}"


def pages(report: RunReport, folder: Path) -> dict[str, Path]:
    """Return the paths of the pages of a run's report, by the name of the page or page set."""
    files = {"report": "report.html", **report.pages}
    return {name: folder / file for name, file in files.items()}


def render_table(report: RunReport) -> RenderableType:
    """Return the report as a table, to be printed by a rich console."""
    from rich.console import Group

    return Group(*(_domain(name, domain) for name, domain in report.domains.items()))


def render_brief(report: RunReport, lines: int) -> RenderableType:
    """Return the most important facts as a table with at most `lines` lines per domain, for a rich console."""
    from rich.console import Group

    return Group(*(_brief(name, domain, lines) for name, domain in report.domains.items()))


def _brief(name: str, domain: DomainReport, lines: int) -> RenderableType:
    from rich.console import Group
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="bold")
    table.add_column(style="dim", no_wrap=True)
    _add_facts(table, brief(get_domain(name), domain, lines))
    return Group(_title(name, domain), "", table, "")


def _table(name: str, domain: DomainReport) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=_title(name, domain),
        title_justify="left",
        box=box.SIMPLE,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(no_wrap=True, min_width=24)
    table.add_column(no_wrap=True, justify="right", style="bold", min_width=11)
    table.add_column(style="dim", overflow="fold")
    return table


def _domain(name: str, domain: DomainReport) -> Table:
    table = _table(name, domain)
    for section in sections(get_domain(name), domain):
        _add(table, section)
    return table


def _title(name: str, domain: DomainReport) -> Text:
    from rich.text import Text

    title = Text(f"{get_domain(name).title}: ", style="bold").append(
        grid_size(domain), style="not bold"
    )
    return title.append(f"; {domain.mode} scoring", style="dim not bold")


def _add(table: Table, section: Section) -> None:
    from rich.text import Text

    number, note = section.heads
    table.add_row(Text(section.title, style="bold"), Text(number, style="dim not bold"), Text(note))
    _add_facts(table, section.facts)
    table.add_section()


def _add_facts(table: Table, facts: Iterable[Fact]) -> None:
    from rich.text import Text

    for fact in facts:
        table.add_row(Text(f"  {fact.label}"), Text(fact.value), Text(_printable(fact.note)))


def _printable(note: str) -> str:
    return "\n".join(map(printable, note.split("\n")))
