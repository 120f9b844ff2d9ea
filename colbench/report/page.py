"""`report.html`: one file that works offline, asks nothing of any network and needs nothing beside it.

Of frontend design it has the numbers and the words; the pictures are in the gallery, which it links to.
"""

from __future__ import annotations

from collections.abc import Sequence

from colbench.numbers import count
from colbench.report import body, bundle, tables
from colbench.report.cells import plan
from colbench.report.facts import FEW_TASKS
from colbench.report.gallery import page_name
from colbench.report.markup import Safe, element, fill, join, resource, sha256
from colbench.report.model import DomainReport, RunReport
from colbench.rollout import Rollout
from colbench.run_folder import RunRecord
from colbench.task import Task

NO_SCRIPT = "The table of tasks and the dialogues need JavaScript; rollouts.jsonl holds them too."


def render_page(
    report: RunReport, record: RunRecord, tasks: Sequence[Task], rollouts: Sequence[Rollout]
) -> str:
    """The page, as HTML."""
    style, script = resource("page.css"), resource("page.js")
    domains = [_domain(name, domain) for name, domain in report.domains.items()]
    lists = [
        _tasks(name, domain, [task for task in tasks if task.domain == name], rollouts)
        for name, domain in report.domains.items()
    ]
    return fill(
        resource("page.html"),
        {
            "policy": _policy(style, script),
            "style": style,
            "script": script,
            "agent": join([report.agent]),
            "setting": join([f"Human: {report.human} · Tasks: {report.tasks}"]),
            "domains": join([_warnings(report), *domains]),
            "tasks": join(lists),
            "identity": body.identity(report, record),
        },
    )


def _policy(style: str, script: str) -> str:
    """A content security policy under which only this style and this script run, and nothing is fetched."""
    return (
        f"default-src 'none'; style-src '{sha256(style)}'; script-src '{sha256(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _warnings(report: RunReport) -> Safe:
    care = element("b", "Take care")
    shown = [element("p", care, f": {each}", class_="panel") for each in report.warnings]
    return element("div", *shown, class_="notes") if shown else Safe()


def _domain(name: str, domain: DomainReport) -> Safe:
    size = f"{count(domain.tasks, 'task')}, {count(domain.trials, 'trial')} each"
    intervals = "Means over tasks with 95 % intervals, resampled by task."
    if domain.tasks < FEW_TASKS:
        intervals += f" Fewer than {FEW_TASKS} tasks: the intervals are rough."
    title = element(
        "header",
        element("h2", f"{name.capitalize()}: {size}"),
        element("p", f"{domain.mode.capitalize()} scoring{_scorers(domain)}. {intervals}"),
        *([_gallery_link()] if name == "frontend" else []),
    )
    return element(
        "section",
        title,
        body.headline(domain),
        body.notes(domain),
        tables.scores(domain),
        body.figures(domain),
        body.details(domain),
        class_="domain",
    )


def _scorers(domain: DomainReport) -> str:
    said = (f"{scorer} ({verdicts:,})" for scorer, verdicts in domain.scorers.items())
    return f" by {', '.join(said)}" if domain.scorers else ""


def _gallery_link() -> Safe:
    link = element("a", "Gallery", href=page_name(1))
    return element("p", link, ": every target, every page that was shown, and how they differ.")


def _tasks(
    name: str, domain: DomainReport, tasks: Sequence[Task], rollouts: Sequence[Rollout]
) -> Safe:
    """The place of the table of tasks, which the script fills, and its data."""
    cells = plan(tasks, domain.trials, rollouts)
    blocks = [
        element("script", Safe(packed), type="application/gzip;base64", class_="block")
        for packed in bundle.blocks(tasks, cells)
    ]
    index = bundle.index(tasks, cells, domain).decode().replace("<", "\\u003c")
    return element(
        "div",
        element("script", Safe(index), type="application/json", class_="index"),
        *blocks,
        element("noscript", element("p", NO_SCRIPT, class_="panel")),
        class_="tasks",
        data_title=f"{name.capitalize()} tasks",
    )
