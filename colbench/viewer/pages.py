"""The pages of the viewer as HTML. The contents of runs and tasks are untrusted: they are escaped and stay text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct

from colbench.asking.failure_class import FAILURE_CLASSES
from colbench.command import printable
from colbench.domain import Domain
from colbench.numbers import percent
from colbench.presentation import Comparison, Picture
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.score import Score
from colbench.task import Task
from colbench.viewer.decisions import decisions_of
from colbench.viewer.difference import compare_lines
from colbench.viewer.filters import BY_TASK, FAILED, NOTED, Filters
from colbench.viewer.index import Row, RunIndex
from colbench.viewer.listing import Listing, Neighbors
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates

LONGEST = 100_000
"""Maximum number of characters of one text on a page."""


class Links(Protocol):
    """The URLs in the pages, which differ between a server and exported files."""

    live: bool
    """True if a server serves the pages, so that they can be filtered and show new dialogues of a running run."""

    def list(self, filters: Filters) -> str:
        """Return the URL of the list of dialogues that pass these filters."""

    def dialogue(self, row: Row, filters: Filters) -> str:
        """Return the URL of a dialogue's page, whose links to other dialogues follow the list with these filters."""

    def notes(self, row: Row, filters: Filters) -> str:
        """Return the URL to which a note on a dialogue is posted; empty if notes are not accepted."""

    def pictures(self, row: Row, turn: int) -> str:
        """Return the URL of the pictures of a turn; empty if the page itself contains the pictures."""

    def picture(self, row: Row, picture: Picture) -> str:
        """Return the URL of a picture."""


class Stage(Struct, frozen=True, kw_only=True):
    """The answer in one turn, as the page shows it: its metrics, and its comparison with the hidden target."""

    turn: int
    metrics: str = ""
    comparison: Comparison | None = None
    """The comparison; None if it could not be created, or if a script loads it only when the turn is viewed."""
    lacking: str = ""
    """The reason why the comparison could not be created, else empty."""


class Showing(Struct, frozen=True, kw_only=True):
    """The content of a dialogue's page, in addition to the dialogue itself."""

    neighbors: Neighbors
    filters: Filters = Filters()
    stages: Sequence[Stage] = ()
    legend: str = ""
    """Explanation of the picture that shows the differences between the answer and the target."""
    token: str = ""
    """Token that proves to the server that a note comes from one of the server's own pages."""


def _printable(value: Any) -> Any:
    """Return a value for a template: without control characters, cut to `LONGEST` characters. Markup is unchanged."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    more = len(value) - LONGEST
    shown = value if more <= 0 else f"{value[:LONGEST]}\n[{more:,} more characters are left out]"
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
    img_src="'self' file:",
)
"""Content security policy of every page."""


def list_page(listing: Listing, filters: Filters, links: Links) -> str:
    """Return one page of a list of dialogues as HTML; `filters` includes the number of the page."""
    page = min(filters.page, listing.pages)
    return _render(
        "list.html",
        links=links,
        filters=filters,
        runs=listing.runs,
        rows=listing.page(page),
        total=len(listing.rows),
        everything=listing.everything,
        planned=sum(run.planned for run in listing.runs),
        page=page,
        pages=listing.pages,
        counts=listing.counts,
        failed=FAILED,
        noted=NOTED,
        by_task=BY_TASK,
        failures=sum(listing.counts.get(outcome, 0) for outcome in FAILURE_CLASSES),
        choices=listing.choices,
    )


def dialogue_page(run: RunIndex, row: Row, links: Links, showing: Showing) -> str:
    """Return the page of one dialogue, with links to its neighbors in the list."""
    rollout = run.rollout(row)
    task = run.task(rollout)
    domain = get_domain(rollout.domain)
    before, after = showing.neighbors
    return _render(
        "dialogue.html",
        links=links,
        showing=showing,
        filters=showing.filters,
        run=run,
        row=row,
        rollout=rollout,
        domain=domain,
        before=before,
        after=after,
        note=run.note(row),
        labels=run.labels,
        scores=_scores(domain, rollout),
        turns=[(turn.private, *_said(domain, turn), turn) for turn in rollout.turns],
        **_hidden(task, rollout),
    )


def stages(rollout: Rollout, turns: Sequence[int]) -> list[Stage]:
    """Return a stage for each of these turns. It has the turn's leading metric, but no pictures."""
    domain = get_domain(rollout.domain)
    scores = [turn.score for turn in rollout.turns]
    return [Stage(turn=turn, metrics=lead_metric(domain, scores[turn - 1])) for turn in turns]


def stage_part(row: Row, stage: Stage, links: Links) -> str:
    """Return the HTML of a turn's pictures, which is one part of a page."""
    return TEMPLATES.get_template("stage.html").render(row=row, stage=stage, links=links)


def error_page(title: str, text: str) -> str:
    """Return a page with an error message."""
    return _render("error.html", title=title, text=text)


def _render(template: str, **values: Any) -> str:
    return TEMPLATES.get_template(template).render(
        style=STYLE, script=SCRIPT, policy=POLICY, **values
    )


def lead_metric(domain: Domain, score: Score | None) -> str:
    """Return the leading metric of a score, such as `layout 64.1%`; "" if the score lacks it."""
    for metric in filter(None, (domain.primary, domain.fallback)):
        value = metric.of(score)
        if value is not None:
            return f"{metric.label} {percent(value)}"
    return ""


def _scores(domain: Domain, rollout: Rollout) -> Mapping[str, Score]:
    """Return the score of the default (first) mode, and every other score whose value differs from it, by mode."""
    first = rollout.scores.get(domain.modes[0])
    return {
        mode: score
        for mode, score in rollout.scores.items()
        if mode == domain.modes[0] or first is None or score.value != first.value
    }


def _said(domain: Domain, turn: Turn) -> tuple[str, str]:
    """Return two texts: the part of a message that the human saw, and the whole message.

    The second text is "" if the human saw the whole message.
    """
    words = domain.readable(turn.said).strip()
    return words, turn.said if words != turn.said.strip() else ""


def _hidden(task: Task | None, rollout: Rollout) -> dict[str, Any]:
    """Return the page's data on the hidden information, and on the answer's difference from the reference."""
    answer = rollout.answer or ""
    if task is None:
        return {"task": None, "decisions": [], "information": "", "difference": None, "given": ""}
    hidden = task.hidden
    scored = get_domain(task.domain).source(answer)
    return {
        "task": task,
        "decisions": decisions_of(task, rollout),
        "information": "" if hidden.information == hidden.reference else hidden.information,
        "difference": compare_lines(hidden.reference, scored),
        "given": answer if scored.strip() != answer.strip() else "",
    }
