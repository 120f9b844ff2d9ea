"""`gallery.html`: for each dialogue the target, every page that was shown, and how the last one differs.

The pages of agents come in as pictures and as escaped text, never as markup. There is no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from colbench.config import RunConfig
from colbench.domain import Metric
from colbench.domains.frontend.gallery.album import Album, Pair, Shot
from colbench.numbers import NOTHING, percent
from colbench.pages.extract import extract_page, target_page
from colbench.rollout import Rollout, Turn
from colbench.score import Score
from colbench.shards import in_shard
from colbench.task import Task
from colbench.web.assets import content_security_policy, csp_hash, read_asset
from colbench.web.templating import page_templates

PACKAGE = "colbench.domains.frontend.gallery"
TEMPLATES = page_templates(PACKAGE)
TASKS = 50
"""Tasks on one page of the gallery."""
WORDS = 300
"""Characters of a message without a page that are shown."""


class Picture(Struct, frozen=True, kw_only=True):
    """A picture with its name and the leading metrics of the page."""

    name: str
    shot: Shot
    metrics: str = ""
    note: str = ""
    """Why there may be no picture."""


class Step(Struct, frozen=True, kw_only=True):
    """A turn: the page that was shown, or what was said, and the human's reply."""

    picture: Picture
    said: str
    human: str | None


class Trial(Struct, frozen=True, kw_only=True):
    """One dialogue about a task."""

    rollout: Rollout | None
    pictures: Sequence[Picture] = ()
    steps: Sequence[Step] = ()
    heads: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = {}
    """The metrics of the final page and of pages that nobody designed."""


class Entry(Struct, frozen=True, kw_only=True):
    """One task with its trials; `number` counts from 1."""

    number: int
    task: Task
    trials: Sequence[Trial]


def page_name(number: int) -> str:
    """Return the file of a page of the gallery, from 1."""
    return "gallery.html" if number == 1 else f"gallery-{number}.html"


def address(place: int) -> str:
    """Return the address of the task at a place (from 0) among those of frontend design."""
    return f"{page_name(place // TASKS + 1)}#task-{place + 1}"


Grid = Sequence[Sequence[Rollout | None]]
"""A row for each task with its planned dialogues; None for a dialogue that has not finished."""


def _grid(tasks: Sequence[Task], config: RunConfig, rollouts: Iterable[Rollout]) -> Grid:
    found = {(rollout.task_id, rollout.trial): rollout for rollout in rollouts}
    return [
        [
            found.get((task.id, trial))
            for trial in range(config.trials)
            if in_shard(config.shard, task.id, task.hash, trial)
        ]
        for task in tasks
    ]


class Gallery:
    """Builds the pages of a gallery. `metrics` and `floors` are the domain's."""

    def __init__(self, album: Album, metrics: Sequence[Metric], floors: Mapping[str, str]) -> None:
        self._album = album
        self._metrics = metrics
        self._floors = floors

    def render(
        self, config: RunConfig, tasks: Sequence[Task], rollouts: Sequence[Rollout]
    ) -> dict[str, str]:
        """Return the pages as HTML, by file name, after taking their pictures."""
        grid = _grid(tasks, config, rollouts)
        self._album.take(*_pages_and_pairs(tasks, grid))
        style = read_asset("colbench.report", "page.css") + read_asset(PACKAGE, "gallery.css")
        policy = content_security_policy(img_src="'self' file:", style_src=csp_hash(style))
        starts = range(0, len(tasks), TASKS)
        names = [page_name(number) for number in range(1, len(starts) + 1)]
        entries = (
            self._entry(place, task, row)
            for place, (task, row) in enumerate(zip(tasks, grid, strict=True))
        )
        template = TEMPLATES.get_template("gallery.html")
        return {
            name: template.render(
                config=config,
                policy=policy,
                style=style,
                names=names,
                here=name,
                entries=[next(entries) for _ in tasks[start : start + TASKS]],
            )
            for name, start in zip(names, starts, strict=True)
        }

    def _entry(self, place: int, task: Task, row: Sequence[Rollout | None]) -> Entry:
        trials = [self._trial(task, rollout) for rollout in row]
        return Entry(number=place + 1, task=task, trials=trials)

    def _trial(self, task: Task, rollout: Rollout | None) -> Trial:
        if rollout is None:
            return Trial(rollout=None)
        score = rollout.scores.get("default")
        heads, rows = self._table(score)
        return Trial(
            rollout=rollout,
            pictures=list(self._pictures(task, rollout, score)),
            steps=list(self._steps(rollout)),
            heads=heads,
            rows=rows,
        )

    def _pictures(self, task: Task, rollout: Rollout, score: Score | None) -> Iterator[Picture]:
        target, final = _target(task), _final(rollout)
        yield Picture(name="Target", shot=self._album.page(target))
        if rollout.answer is not None:
            yield self._picture("Final page", final, score)
            yield Picture(name="Difference", shot=self._album.difference(target, final))

    def _steps(self, rollout: Rollout) -> Iterator[Step]:
        for number, (turn, page) in enumerate(shown_pages(rollout), start=1):
            picture = self._picture(f"Turn {number}", page, turn.score)
            said = turn.said[:WORDS] if page is None else ""
            yield Step(picture=picture, said=said, human=turn.human)

    def _picture(self, name: str, page: str | None, score: Score | None) -> Picture:
        leading = [metric for metric in self._metrics if metric.role != "detail"]
        shown = [metric for metric in leading if score and metric.name in score.metrics]
        return Picture(
            name=name,
            shot=self._album.page(page),
            metrics=", ".join(f"{m.label} {percent(score.metrics[m.name])}" for m in shown)
            if score
            else "",
            note=score.note if score else "",
        )

    def _table(self, score: Score | None) -> tuple[Sequence[str], Mapping[str, Sequence[str]]]:
        """Return all metrics of the final page next to those of pages that nobody designed."""
        names = [metric for metric in self._metrics if score and metric.name in score.metrics]
        if score is None or not names:
            return (), {}
        pages = {"final page": score.metrics}
        pages |= {
            label: score.floors[floor]
            for floor, label in self._floors.items()
            if floor in score.floors
        }
        rows = {
            label: [percent(found[m.name]) if m.name in found else NOTHING for m in names]
            for label, found in pages.items()
        }
        return [metric.label for metric in names], rows


def _pages_and_pairs(tasks: Sequence[Task], grid: Grid) -> tuple[list[str], list[Pair]]:
    """Return the pages that are shown, and those that are compared."""
    pages, pairs = [], []
    for task, row in zip(tasks, grid, strict=True):
        pages.append(_target(task))
        for rollout in filter(None, row):
            pages += [page for _, page in shown_pages(rollout) if page]
            if final := _final(rollout):
                pages.append(final)
                pairs.append((_target(task), final))
    return pages, pairs


def _target(task: Task) -> str:
    return target_page(task.hidden.reference)


def _final(rollout: Rollout) -> str | None:
    return extract_page(rollout.answer) if rollout.answer is not None else None


def shown_pages(rollout: Rollout) -> Iterator[tuple[Turn, str | None]]:
    """Yield each turn with the page that it showed; on the last turn that is the answer's."""
    for turn in rollout.turns[:-1]:
        yield turn, extract_page(turn.said)
    if rollout.turns:
        last = rollout.turns[-1]
        yield last, extract_page(last.said) if rollout.answer is None else _final(rollout)
