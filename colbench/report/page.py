"""`report.html`: one file that works offline, makes no network request and needs no other file.

The dialogues of a large run are on further pages, `dialogues.html`, `dialogues-2.html` and so on. Further pages of a
domain, such as pictures of what was designed, are linked to (`Domain.report_pages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from colbench.presentation import ReportPages
from colbench.registry import get_domain
from colbench.report import bundle
from colbench.report.cells import Cells
from colbench.report.identity import pins
from colbench.report.model import DomainReport, RunReport
from colbench.report.view import domain_view
from colbench.rollout_file import RolloutReader
from colbench.run_folder import RunRecord
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates

TEMPLATES = page_templates("colbench.report")
LARGE = 20_000
"""Dialogues from which on the tables of tasks are on pages of their own."""
PART = 2_000
"""Dialogues on such a page."""


class Part(Struct, frozen=True, kw_only=True):
    """Some tasks of a domain, on a page of their own."""

    file: str
    title: str
    cells: Cells
    report: DomainReport
    pages: ReportPages | None


def render_pages(
    report: RunReport,
    record: RunRecord,
    cells: Mapping[str, Cells],
    dialogues: RolloutReader,
    pages: Mapping[str, ReportPages],
) -> Iterator[tuple[str, str]]:
    """Yield the files of the report as name and HTML; `cells` and `pages`, the further pages, are by domain."""
    planned = sum(each.planned for each in cells.values())
    parts = list(_parts(report, cells, pages)) if planned > LARGE else []
    shown = [
        {
            "title": get_domain(name).title,
            "view": domain_view(get_domain(name), found),
            "pages": pages.get(name),
            "tables": [] if parts else [_table(found, cells[name], dialogues, pages.get(name))],
        }
        for name, found in report.domains.items()
    ]
    pinned = list(pins(report, record))
    yield "report.html", _render(report=report, domains=shown, pins=pinned, parts=parts, part=None)
    for part in parts:
        table = _table(part.report, part.cells, dialogues, part.pages)
        yield part.file, _render(report=report, domains=[{"tables": [table]}], parts=[], part=part)


def _parts(
    report: RunReport, cells: Mapping[str, Cells], pages: Mapping[str, ReportPages]
) -> Iterator[Part]:
    number = 0
    for name, found in report.domains.items():
        tasks = cells[name].tasks
        size = max(1, PART // found.trials)
        for start in range(0, len(tasks), size):
            chosen = slice(start, start + size)
            number += 1
            yield Part(
                file="dialogues.html" if number == 1 else f"dialogues-{number}.html",
                title=f"{tasks[chosen][0].id} to {tasks[chosen][-1].id}",
                cells=replace(cells[name], tasks=tasks[chosen], grid=cells[name].grid[chosen]),
                report=found,
                pages=pages.get(name),
            )


def _render(**context: Any) -> str:
    style = read_asset("colbench.report", "page.css") + read_asset("colbench.web", "charts.css")
    script = read_asset("colbench.report", "page.js")
    return TEMPLATES.get_template("report.html").render(
        policy=content_security_policy(style_src=csp_hash(style), script_src=csp_hash(script)),
        style=style,
        script=script,
        **context,
    )


def _table(
    report: DomainReport, cells: Cells, dialogues: RolloutReader, pages: ReportPages | None
) -> dict[str, Any]:
    """Return the data of a table of tasks."""
    domain = get_domain(cells.tasks[0].domain)
    return {
        "title": domain.title,
        "index": bundle.index(cells, domain, report, pages),
        "blocks": list(bundle.blocks(cells, domain, report, dialogues)),
    }
