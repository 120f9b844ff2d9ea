"""`gallery.html`: the target, every page that was shown and how the last one differs, for each dialogue.

The pages of agents come in as pictures and as escaped text, never as markup. There is no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from colbench.numbers import NOTHING, count, percent, sentence
from colbench.pages.extract import extract_page, target_page
from colbench.report.album import Album, Pair, Shot
from colbench.report.cells import plan
from colbench.report.facts import measure_name
from colbench.report.frontend import METRICS
from colbench.report.markup import Safe, element, fill, join, resource, sha256, table
from colbench.report.model import RunReport
from colbench.report.tables import FLOOR_NAMES
from colbench.rollout import Rollout, Turn
from colbench.score import Score
from colbench.task import Task

TASKS = 50
"""Tasks on one page of the gallery."""
WORDS = 300
"""Characters of a message without a page that are shown."""


def page_name(number: int) -> str:
    """The file of a page of the gallery, from 1."""
    return "gallery.html" if number == 1 else f"gallery-{number}.html"


def address(place: int) -> str:
    """Where the task at a place (from 0) among those of frontend design is shown."""
    return f"{page_name(place // TASKS + 1)}#task-{place + 1}"


def render_gallery(
    report: RunReport, tasks: Sequence[Task], rollouts: Sequence[Rollout], album: Album
) -> list[str]:
    """The pages of the gallery, as HTML. `tasks`: those of frontend design, with at least one."""
    rows = plan(tasks, report.domains["frontend"].trials, rollouts).grid
    album.take(*_pictures(tasks, rows))
    style = resource("page.css") + resource("gallery.css")
    starts = range(0, len(tasks), TASKS)
    return [
        fill(
            resource("gallery.html"),
            {
                "policy": f"default-src 'none'; img-src 'self' file:; style-src '{sha256(style)}'; "
                "base-uri 'none'; form-action 'none'",
                "style": style,
                "agent": join([report.agent]),
                "setting": join([f"Human: {report.human} · Tasks: {report.tasks}"]),
                "pages": _pages(number, len(starts)),
                "contents": _contents(tasks, start),
                "tasks": join(
                    _task(place, tasks[place], rows[place], album)
                    for place in range(start, min(start + TASKS, len(tasks)))
                ),
            },
        )
        for number, start in enumerate(starts, start=1)
    ]


def _pictures(
    tasks: Sequence[Task], rows: Sequence[Sequence[Rollout | None]]
) -> tuple[list[str], list[Pair]]:
    """The pages that are shown, and those that are compared."""
    pages, pairs = [], []
    for task, row in zip(tasks, rows, strict=True):
        pages.append(_target(task))
        for rollout in filter(None, row):
            pages += [page for _, page in _shown(rollout) if page]
            if final := _final(rollout):
                pages.append(final)
                pairs.append((_target(task), final))
    return pages, pairs


def _target(task: Task) -> str:
    return target_page(task.hidden.reference)


def _final(rollout: Rollout) -> str | None:
    return extract_page(rollout.answer) if rollout.answer is not None else None


def _shown(rollout: Rollout) -> Iterator[tuple[Turn, str | None]]:
    """Each turn with the page that it showed; on the last turn that is the answer's."""
    for turn in rollout.turns[:-1]:
        yield turn, extract_page(turn.said)
    if rollout.turns:
        last = rollout.turns[-1]
        yield last, extract_page(last.said) if rollout.answer is None else _final(rollout)


def _pages(number: int, pages: int) -> Safe:
    if pages == 1:
        return Safe()
    links = (
        element("a", str(n), href=page_name(n), aria_current="page" if n == number else None)
        for n in range(1, pages + 1)
    )
    return element("nav", "Pages ", *links, class_="leaves", aria_label="Pages of the gallery")


def _contents(tasks: Sequence[Task], start: int) -> Safe:
    listed = (
        element("li", element("a", task.id, href=f"#task-{place + 1}"), " ", task.request[:80])
        for place, task in enumerate(tasks[start : start + TASKS], start=start)
    )
    summary = element("summary", "Tasks on this page")
    return element("details", summary, element("ol", *listed, start=start + 1), class_="contents")


def _task(place: int, task: Task, row: Sequence[Rollout | None], album: Album) -> Safe:
    """One task with all its trials."""
    link = element("a", task.id, href=f"report.html#task={quote(task.id, safe='')}")
    head = element(
        "header", element("h2", link), element("p", task.request, class_="request"), class_="head"
    )
    trials = (
        _dialogue(task, rollout, album, f"Trial {n}" if len(row) > 1 else "")
        for n, rollout in enumerate(row, start=1)
    )
    return element("article", head, *trials, id=f"task-{place + 1}", class_="panel dialogue")


def _dialogue(task: Task, rollout: Rollout | None, album: Album, trial: str) -> Safe:
    head = [element("h3", trial)] if trial else []
    if rollout is None:
        return element("section", *head, element("p", "This dialogue has not been held yet."))
    if failure := rollout.failure:
        lost = f"Failed: {failure.boundary}: {failure.reason}"
        head.append(element("p", lost, class_="bad failed"))
    score = rollout.scores.get("default")
    trio = [_figure("Target", task, album.page(_target(task)))]
    if rollout.answer is not None:
        final = _final(rollout)
        trio.append(_figure("Final page", task, album.page(final), score))
        trio.append(_figure("Difference", task, album.difference(_target(task), final)))
    return element(
        "section",
        *head,
        element("div", *trio, class_="trio"),
        _turns(rollout, task, album),
        _floors(score),
    )


def _measures(score: Score) -> str:
    """What was measured of a page, in a line."""
    names = [name for name in ("cosine", "layout") if name in score.metrics]
    return ", ".join(f"{measure_name(name)} {percent(score.metrics[name])}" for name in names)


def _figure(name: str, task: Task, shot: Shot, score: Score | None = None) -> Safe:
    said = [" ", element("small", _measures(score))] if score else []
    caption = element("figcaption", element("b", name), *said)
    if not shot.file:
        note = f"{shot.note} {score.note}" if score else shot.note
        return element("figure", caption, element("p", note, class_="lacking"))
    image = element(
        "img",
        src=shot.file,
        alt=f"{name}, {task.id}",
        loading="lazy",
        decoding="async",
        width=shot.width,
        height=shot.height,
    )
    return element("figure", caption, element("a", image, href=shot.file, class_="frame"))


def _turns(rollout: Rollout, task: Task, album: Album) -> Safe:
    """What the agent showed turn by turn, and what the human said to it."""
    cards = []
    for number, (turn, page) in enumerate(_shown(rollout), start=1):
        shot = album.page(page)
        card = [_figure(f"Turn {number}", task, shot, turn.score)]
        if page is None and turn.said:
            card.append(element("p", turn.said[:WORDS], class_="said"))
        if turn.human is not None:
            card.append(element("blockquote", turn.human))
        cards.append(element("li", *card))
    label = f"{count(len(cards), 'turn')} of {task.id}"
    return element("ol", *cards, class_="turns", tabindex=0, aria_label=label)


def _floors(score: Score | None) -> Safe:
    """All measures of the final page beside those of pages that nobody designed."""
    names = [name for name in METRICS if score and name in score.metrics]
    if score is None or not names:
        return Safe()
    pages = {"Final page": score.metrics}
    pages |= {
        label: score.floors[page] for page, label in FLOOR_NAMES.items() if page in score.floors
    }
    rows = (
        (label, *(percent(found[name]) if name in found else NOTHING for name in names))
        for label, found in pages.items()
    )
    heads = ("Page", *(sentence(measure_name(name)) for name in names))
    numbers = table("Measures and floors", heads, rows)
    scrolled = element(
        "div", numbers, class_="scroll", tabindex=0, role="region", aria_label="Measures"
    )
    return element("details", element("summary", "All measures, and floors"), scrolled)
