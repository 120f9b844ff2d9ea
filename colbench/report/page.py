"""`report.html`: one file that works offline, makes no network request and needs no other file.

Further pages of a domain, such as pictures of what was designed, are linked to (`Domain.report_pages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def render_page(
    report: RunReport,
    record: RunRecord,
    cells: Mapping[str, Cells],
    dialogues: RolloutReader,
    pages: Mapping[str, ReportPages],
) -> str:
    """Return the page as HTML; `cells` and `pages`, the further pages, are by domain."""
    style = read_asset("colbench.report", "page.css") + read_asset("colbench.web", "charts.css")
    script = read_asset("colbench.report", "page.js")
    return TEMPLATES.get_template("report.html").render(
        report=report,
        policy=content_security_policy(style_src=csp_hash(style), script_src=csp_hash(script)),
        style=style,
        script=script,
        pins=list(pins(report, record)),
        domains=[
            _context(found, cells[name], dialogues, pages.get(name))
            for name, found in report.domains.items()
        ],
    )


def _context(
    report: DomainReport, cells: Cells, dialogues: RolloutReader, pages: ReportPages | None
) -> dict[str, Any]:
    """Return a domain's part, its further pages, and the data of its table of tasks."""
    domain = get_domain(cells.tasks[0].domain)
    return {
        "title": domain.title,
        "view": domain_view(domain, report),
        "pages": pages,
        "index": bundle.index(cells, domain, report, pages),
        "blocks": list(bundle.blocks(cells, domain, report, dialogues)),
    }
