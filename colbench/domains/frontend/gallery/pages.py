"""`gallery.html`: for each dialogue, the target, every page shown, and how the final page differs from the target.

Agents' pages are included as pictures and as escaped text, never as markup. The gallery contains no script.
"""

from __future__ import annotations

import math
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
"""Maximum number of tasks on a page of the gallery."""
DIALOGUES = 100
"""Maximum number of dialogues on a page of the gallery, unless a task has more trials."""
NEAR = 10
"""Number of gallery pages to which a page links in each direction."""
Row = Mapping[int, Rollout | None]
"""The planned dialogues on a task, by the trial's number from 0; None for an unfinished dialogue."""
WORDS = 300
"""Maximum number of characters shown of a message without a page."""


class Picture(Struct, frozen=True, kw_only=True):
    """A picture with its name and the leading metrics of the page."""

    name: str
    shot: Shot
    metrics: str = ""
    note: str = ""
    """The note of the page's score. If the picture is missing, this note is shown after the reason (`shot.note`)."""


class Step(Struct, frozen=True, kw_only=True):
    """A turn: the page or the message, and the human's reply."""

    picture: Picture
    said: str
    human: str | None


class Trial(Struct, frozen=True, kw_only=True):
    """One dialogue about a task; `number` counts from 1. Without a `rollout`, the dialogue is unfinished."""

    number: int
    rollout: Rollout | None
    pictures: Sequence[Picture] = ()
    steps: Sequence[Step] = ()
    heads: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = {}
    """The metrics of the final page and of the floors (such as a black page), by name; `heads` names the metrics."""


class Entry(Struct, frozen=True, kw_only=True):
    """One task with its trials; `number` counts from 1."""

    number: int
    task: Task
    trials: Sequence[Trial]


def page_name(number: int) -> str:
    """Return the file name of a page of the gallery; pages are numbered from 1."""
    return "gallery.html" if number == 1 else f"gallery-{number}.html"


class Gallery(Mapping[str, str]):
    """The pages of a gallery as HTML, by file name. Each page is built on access, after its pictures are created."""

    def __init__(
        self,
        album: Album,
        config: RunConfig,
        tasks: Sequence[Task],
        rollouts: Sequence[Sequence[Rollout]],
        *,
        metrics: Sequence[Metric],
        floors: Mapping[str, str],
    ) -> None:
        """Set up the gallery. `rollouts`: finished dialogues by task. `metrics`, `floors`: attributes of the domain."""
        self._album, self._config = album, config
        self._tasks, self._rollouts = tasks, rollouts
        self._metrics, self._floors = metrics, floors
        self._size = max(1, min(TASKS, DIALOGUES // config.trials))
        pages = math.ceil(len(tasks) / self._size)
        self._numbers = {page_name(number): number for number in range(1, pages + 1)}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __getitem__(self, name: str) -> str:
        number = self._numbers[name]
        start = (number - 1) * self._size
        tasks = self._tasks[start : start + self._size]
        rows = [
            _planned(task, self._config, row)
            for task, row in zip(tasks, self._rollouts[start : start + self._size], strict=True)
        ]
        self._album.take(*_pages_and_pairs(tasks, rows))
        style = read_asset("colbench.report", "page.css") + read_asset(PACKAGE, "gallery.css")
        return TEMPLATES.get_template("gallery.html").render(
            config=self._config,
            policy=content_security_policy(img_src="'self' file:", style_src=csp_hash(style)),
            style=style,
            page_name=page_name,
            numbers=_linked(number, len(self)),
            here=number,
            entries=[
                self._entry(place, task, row)
                for place, (task, row) in enumerate(zip(tasks, rows, strict=True), start=start)
            ],
        )

    def address(self, place: int) -> str:
        """Return the relative URL of the task with the index `place`, counted from 0."""
        return f"{page_name(place // self._size + 1)}#task-{place + 1}"

    def _entry(self, place: int, task: Task, row: Row) -> Entry:
        trials = [self._trial(task, trial + 1, rollout) for trial, rollout in row.items()]
        return Entry(number=place + 1, task=task, trials=trials)

    def _trial(self, task: Task, number: int, rollout: Rollout | None) -> Trial:
        if rollout is None:
            return Trial(number=number, rollout=None)
        score = rollout.scores.get("default")
        heads, rows = self._table(score)
        return Trial(
            number=number,
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
        """Return a table's headings (metrics) and rows (the final page, then the floors).

        Both are empty if the score has none of the gallery's metrics.
        """
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


def _planned(task: Task, config: RunConfig, rollouts: Iterable[Rollout]) -> Row:
    """Return the dialogues on a task that the run's shard plans, by trial; None stands for an unfinished dialogue."""
    found = {rollout.trial: rollout for rollout in rollouts}
    trials = range(config.trials)
    return {
        trial: found.get(trial)
        for trial in trials
        if in_shard(config.shard, task.id, task.hash, trial)
    }


def _linked(here: int, pages: int) -> list[int]:
    """Return the numbers of the pages that a page links to: the first page, the last page, and neighboring pages."""
    near = range(here - NEAR, here + NEAR + 1)
    return [n for n in sorted({1, pages, *near}) if 1 <= n <= pages]


def _pages_and_pairs(tasks: Sequence[Task], grid: Sequence[Row]) -> tuple[list[str], list[Pair]]:
    """Return the pages to show, and the pairs to compare: a target page and a final page."""
    pages, pairs = [], []
    for task, row in zip(tasks, grid, strict=True):
        pages.append(_target(task))
        for rollout in filter(None, row.values()):
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
    """Yield each turn with the page that it showed, or None. The answer's page counts as the last turn's page."""
    for turn in rollout.turns[:-1]:
        yield turn, extract_page(turn.said)
    if rollout.turns:
        last = rollout.turns[-1]
        yield last, extract_page(last.said) if rollout.answer is None else _final(rollout)
