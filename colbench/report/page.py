"""`report.html`: a page that works offline, makes no network request and loads no other file.

The dialogues of a large run are on further pages, `dialogues.html`, `dialogues-2.html` and so on. Further pages of a
domain, such as pictures of the designs, are linked (`Domain.report_pages`).
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
"""Number of planned dialogues above which the tables of tasks are on separate pages."""
PART = 2_000
"""Maximum number of planned dialogues on a separate page, unless a single task has more dialogues."""


class Part(Struct, frozen=True, kw_only=True):
    """A page of the report that shows some tasks of one domain."""

    file: str
    title: str
    name: str
    """Name of the domain."""
    cells: Cells


def render_pages(
    report: RunReport,
    record: RunRecord,
    cells: Mapping[str, Cells],
    dialogues: RolloutReader,
    pages: Mapping[str, ReportPages],
    *,
    large: int = LARGE,
) -> Iterator[tuple[str, str]]:
    """Yield the name and the HTML of each page of the report.

    `cells` and `pages` are keyed by the domain's name; `pages` has the pages that domains add. `large`: see `LARGE`.
    """
    planned = sum(each.planned for each in cells.values())
    parts = list(_parts(cells)) if planned > large else []

    def table(name: str, shown: Cells) -> dict[str, Any]:
        return _table(report.domains[name], shown, dialogues, pages.get(name))

    domains = [
        {
            "name": name,
            "title": get_domain(name).title,
            "view": domain_view(get_domain(name), found, cells[name].tasks),
            "pages": pages.get(name),
            "parts": [part for part in parts if part.name == name],
            "table": None if parts else table(name, cells[name]),
        }
        for name, found in report.domains.items()
    ]
    pinned = list(pins(report, record))
    yield "report.html", _render(report=report, domains=domains, pins=pinned, part=None)
    for part in parts:
        shown = {"name": part.name, "table": table(part.name, part.cells)}
        yield part.file, _render(report=report, domains=[shown], part=part)


def _parts(cells: Mapping[str, Cells]) -> Iterator[Part]:
    number = 0
    for name, own in cells.items():
        size = max(1, PART // own.trials)
        for start in range(0, len(own.tasks), size):
            chosen = slice(start, start + size)
            tasks, number = own.tasks[chosen], number + 1
            yield Part(
                file="dialogues.html" if number == 1 else f"dialogues-{number}.html",
                title=f"{tasks[0].id} to {tasks[-1].id}",
                name=name,
                cells=replace(own, tasks=tasks, grid=own.grid[chosen]),
            )


def _render(**context: Any) -> str:
    style = read_asset("colbench.report", "page.css") + read_asset("colbench.web", "charts.css")
    script = read_asset("colbench.report", "page.js") + read_asset("colbench.web", "linked.js")
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
        "index": bundle.index(cells, domain, report, pages),
        "blocks": list(bundle.blocks(cells, domain, report, dialogues)),
    }
