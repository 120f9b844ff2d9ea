"""The pages of the viewer as HTML. All that runs and tasks hold is hostile: it is escaped and stays text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from jinja2 import Environment
from markupsafe import Markup

from colbench.asking.failure_class import FAILURE_CLASSES
from colbench.command import printable
from colbench.messages import PUBLIC_MARKER
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.task import Task
from colbench.viewer.decisions import decisions_of
from colbench.viewer.difference import compare_lines
from colbench.viewer.filters import FAILED, Filters
from colbench.viewer.index import Row, RunIndex
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates

PER_PAGE = 100
LONGEST = 100_000
"""Characters of any one text that a page shows."""


Neighbors = tuple[Row | None, Row | None]
"""The dialogues before and after one in a list; None at its ends."""


class Links(Protocol):
    """Where the pages are."""

    live: bool
    """True if a server answers, with filters and with what runs add."""

    def list(self, filters: Filters) -> str:
        """Return the address of a list."""

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the address of a dialogue as one of a list."""


def _printable(value: Any) -> Any:
    """Return what a template writes, without control characters and cut to `LONGEST`; markup stays as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    more = len(value) - LONGEST
    shown = (
        value if more <= 0 else f"{value[:LONGEST]}\n[{more:,} more characters in rollouts.jsonl]"
    )
    return printable(shown)


def _templates() -> Environment:
    templates = page_templates("colbench.viewer")
    templates.finalize = _printable
    return templates


TEMPLATES = _templates()
STYLE = read_asset("colbench.report", "page.css") + read_asset("colbench.viewer", "viewer.css")
SCRIPT = read_asset("colbench.viewer", "viewer.js")
POLICY = content_security_policy(
    style_src=csp_hash(STYLE),
    script_src=csp_hash(SCRIPT),
    connect_src="'self'",
    form_action="'self'",
)
"""Content security policy of every page."""


def list_page(runs: Sequence[RunIndex], filters: Filters, links: Links) -> str:
    """Return a page of the list of dialogues."""
    rows = [row for run in runs for row in run.rows]
    found = filters.select(rows)
    counts = filters.count(rows)
    pages = page_count(found)
    page = min(filters.page, pages)
    return _render(
        "list.html",
        links=links,
        filters=filters,
        runs=runs,
        rows=found[(page - 1) * PER_PAGE : page * PER_PAGE],
        total=len(found),
        everything=len(rows),
        page=page,
        pages=pages,
        counts=counts,
        failed=FAILED,
        failures=sum(counts.get(outcome, 0) for outcome in FAILURE_CLASSES),
        domains=sorted({row.domain for row in rows}),
        families=sorted({row.family for row in rows if row.family}),
        decisions=sorted({name for row in rows for name in row.untold}),
    )


def page_count(rows: Sequence[Row]) -> int:
    """Return the number of pages of a list; one if it is empty."""
    return max(1, -(-len(rows) // PER_PAGE))


def dialogue_page(
    run: RunIndex, row: Row, neighbors: Neighbors, filters: Filters, links: Links
) -> str:
    """Return the page of one dialogue, with links to its neighbors in the list."""
    rollout = run.rollout(row)
    task = run.task(rollout)
    before, after = neighbors
    return _render(
        "dialogue.html",
        links=links,
        filters=filters,
        run=run,
        row=row,
        rollout=rollout,
        domain=get_domain(rollout.domain),
        before=before,
        after=after,
        turns=[(_private(turn), turn) for turn in rollout.turns],
        **_hidden(task, rollout),
    )


def error_page(title: str, text: str) -> str:
    """Return a page that says what is wrong."""
    return _render("error.html", title=title, text=text)


def _render(template: str, **values: Any) -> str:
    return TEMPLATES.get_template(template).render(
        style=STYLE, script=SCRIPT, policy=POLICY, **values
    )


def find_neighbors(runs: Sequence[RunIndex], row: Row, filters: Filters) -> Neighbors:
    """Return the neighbors of a dialogue in a list; none outside of it."""
    found = filters.select(each for run in runs for each in run.rows)
    place = next((n for n, each in enumerate(found) if each is row), None)
    if place is None:
        return None, None
    before = found[place - 1] if place else None
    return before, found[place + 1] if place + 1 < len(found) else None


def _private(turn: Turn) -> str:
    """Return what the agent wrote for itself."""
    private, marker, _ = turn.raw.partition(PUBLIC_MARKER)
    parts = (turn.thoughts.strip(), private.strip() if marker else "")
    return "\n\n".join(part for part in parts if part)


def _hidden(task: Task | None, rollout: Rollout) -> dict[str, Any]:
    """Return what the agent was not shown."""
    if task is None:
        return {"task": None, "decisions": [], "information": "", "difference": None}
    hidden = task.hidden
    return {
        "task": task,
        "decisions": decisions_of(task, rollout),
        "information": "" if hidden.information == hidden.reference else hidden.information,
        "difference": compare_lines(hidden.reference, rollout.answer or ""),
    }
