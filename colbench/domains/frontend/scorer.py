"""Similarity of the answer's page to the hidden design, both rendered by the same browser.

`default` is ColBench's own verdict: an answer without a page that can be rendered scores 0. `official` follows the
released scorer (SWEET-RL, arXiv 2503.15478): it extracts pages differently, renders them in another viewport, and
replaces a missing page by a black picture. A score's value is the cosine of CLIP's embeddings of the two pictures.
Without CLIP's weights, the value is None, and only the other measures of `default` are reported. docs/frontend.md
explains what each measure captures.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

import msgspec

from colbench.config import ScoringMode
from colbench.domains.frontend.clip import ClipEncoder
from colbench.domains.frontend.human.followed import all_followed
from colbench.domains.frontend.known import Known
from colbench.domains.frontend.layout import compare_layout
from colbench.domains.frontend.pictures import View
from colbench.domains.frontend.ssim import picture_ssim
from colbench.errors import ScorerError, boundary
from colbench.pages.extract import extract_page, target_page
from colbench.pages.render import PageRenderer, Render, RenderOutcome
from colbench.rollout import Followed
from colbench.score import Score
from colbench.task import Task

VERSION = 1
MODES: tuple[ScoringMode, ...] = ("default", "official")
DIGITS = 5
"""Number of decimal places of every measure. Batch size, threads and device change a cosine by less than 0.000005."""
COSINES: dict[str, View] = {"cosine": "crop", "cosine_page": "page"}
LAYOUT = ("block", "text", "position", "color", "layout", "ssim")
BLACK, WHITE = "#000000", "#ffffff"
NO_WEIGHTS = "no cosine without CLIP's weights; `colbench score` adds it later"
MOST_FLOORS = 2048

Metrics = dict[str, float]


class FrontendScorer:
    """A scorer that renders pages with a given renderer. The renderer must have been started.

    `clip`: the encoder; if None, the cosine is left out. `targets`: the tasks of the run. A task's floor `other` is
    the score of another task's target page, taken from `targets`. `modes`: the modes to score in.
    """

    def __init__(
        self,
        renderer: PageRenderer,
        clip: ClipEncoder | None,
        targets: Sequence[Task],
        modes: Sequence[ScoringMode] = MODES,
    ) -> None:
        self._renderer = renderer
        self._clip = clip
        self._targets = targets
        self._modes = modes
        self._floors: Known[str, dict[str, Metrics]] = Known(MOST_FLOORS)

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        """Return the verdicts on an answer, by mode.

        Raises RenderError if the browser fails, ScorerError if a measure cannot be computed or the target cannot be
        rendered.
        """
        return {mode: await self._score(task, answer, mode) for mode in self._modes}

    async def score_turn(self, task: Task, said: str) -> Score | None:
        """Return the `default` verdict, without `floors`, on the page in a message; None if the message has no page.

        Raises the same errors as `score`.
        """
        return await self._default(task, said) if extract_page(said) else None

    async def score_replies(
        self, task: Task, shown: Sequence[str], replies: Sequence[str | None]
    ) -> list[Followed | None]:
        """Return, for each turn, what the agent's next page did about the differences that the human named.

        `shown`: the agent's message in each turn; for the last turn, the answer. `replies`: the human's replies. Only
        differences named in the exact words of the rule-based human count; see `all_followed`. Raises RenderError if
        the browser fails, ScorerError if the target cannot be rendered or the comparison fails.
        """
        pages = [extract_page(text) for text in shown]
        target, *made = await asyncio.gather(
            self._target(task, "default"),
            *(self._renderer.render(page, "default") for page in pages if page),
        )
        renders = iter(made)
        seen = [next(renders) if page else None for page in pages]
        with boundary(ScorerError):
            return await asyncio.to_thread(all_followed, target, seen, replies)

    async def _score(self, task: Task, answer: str, mode: ScoringMode) -> Score:
        if mode == "official":
            return await self._official(task, answer)
        score = await self._default(task, answer)
        floors = await self._floors.get(task.hash, lambda: self._compute_floors(task))
        return msgspec.structs.replace(score, floors=floors)

    async def _default(self, task: Task, answer: str) -> Score:
        target, page = await asyncio.gather(
            self._target(task, "default"), self._renderer.render(extract_page(answer), "default")
        )
        if page.outcome == "rendered":
            metrics = await self._compare(page, target)
            return self._verdict("default", metrics, "" if self._clip else NO_WEIGHTS)
        names = (*COSINES, *LAYOUT) if self._clip else LAYOUT
        note = f"{page.outcome}: {page.note}" if page.note else page.outcome
        if self._clip:
            black = await self._cosines(_solid(target, BLACK), target, ("cosine",))
            note += f"; the released scorer's black picture has the cosine {black['cosine']}"
        return self._verdict("default", dict.fromkeys(names, 0.0), note, page.outcome)

    async def _official(self, task: Task, answer: str) -> Score:
        if not self._clip:
            return self._verdict("official", {}, NO_WEIGHTS)
        target, page = await asyncio.gather(
            self._target(task, "official"),
            self._renderer.render(extract_page(answer, "official"), "official"),
        )
        rendered = page.outcome == "rendered"
        shown = page if rendered else _solid(target, BLACK)
        metrics = await self._cosines(shown, target, ("cosine",))
        note = "" if rendered else f"{page.outcome}: scored as black"
        return self._verdict("official", metrics, note, page.outcome)

    def _verdict(
        self, mode: ScoringMode, metrics: Metrics, note: str, outcome: RenderOutcome = "rendered"
    ) -> Score:
        """Return a score; `outcome` is the outcome of rendering the answer's page."""
        clip = f" clip {self._clip.identity}" if self._clip else ""
        return Score(
            scorer=f"page-similarity/{mode}/{VERSION}{clip}",
            value=metrics.get("cosine"),
            success=None,
            outcome="" if outcome == "rendered" else outcome,
            note=note,
            metrics=metrics,
            environment=self._renderer.environment,
        )

    async def _target(self, task: Task, mode: ScoringMode) -> Render:
        target = await self._renderer.render(target_page(task.hidden.reference, mode), mode)
        if target.outcome != "rendered":
            reason = f"{target.outcome}: {target.note}" if target.note else target.outcome
            raise ScorerError(
                f"task {task.id}: its target cannot be rendered ({reason}); leave out or correct the task"
            )
        return target

    async def _compute_floors(self, task: Task) -> dict[str, Metrics]:
        target = await self._target(task, "default")
        pages = {
            "black": _solid(target, BLACK),
            "white": _solid(target, WHITE),
            "other": await self._other(task),
            "target": target,
        }
        return {name: await self._compare(page, target) for name, page in pages.items() if page}

    async def _other(self, task: Task) -> Render | None:
        """Return a render of another target of the run; None if the run has no other target that can be rendered.

        The targets after the task's own are tried first, then those before it. Equal targets are left out.
        """
        hashes = [each.hash for each in self._targets]
        after = hashes.index(task.hash) + 1 if task.hash in hashes else 0
        for other in (*self._targets[after:], *self._targets[:after]):
            if other.hidden.reference != task.hidden.reference:
                try:
                    return await self._target(other, "default")
                except ScorerError:
                    continue
        return None

    async def _compare(self, page: Render, target: Render) -> Metrics:
        """Return all measures that can be computed for a rendered page."""
        plain = asyncio.to_thread(_measure, page, target)
        if not self._clip:
            return await plain
        cosines, others = await asyncio.gather(self._cosines(page, target, tuple(COSINES)), plain)
        return cosines | others

    async def _cosines(self, page: Render, target: Render, names: Sequence[str]) -> Metrics:
        assert self._clip  # noqa: S101
        views = [COSINES[name] for name in names]
        mine, theirs = await asyncio.gather(
            *(self._clip.embed(each.picture, *views) for each in (page, target))
        )
        return {
            name: round(float(cosine), DIGITS)
            for name, cosine in zip(names, (mine * theirs).sum(axis=1), strict=True)
        }


def _measure(page: Render, target: Render) -> Metrics:
    with boundary(ScorerError):
        agreement = compare_layout(page, target)
        similarity = picture_ssim(page.picture, target.picture, page.background, target.background)
    values = {name: getattr(agreement, name) for name in LAYOUT if name != "ssim"}
    return {
        name: round(float(value), DIGITS) for name, value in (values | {"ssim": similarity}).items()
    }


def _solid(target: Render, color: str) -> Render:
    """Return a blank black or white page of the target's size."""
    from PIL import Image

    content = io.BytesIO()
    Image.new("1", (target.width, target.height), color).save(content, "PNG")
    return Render(
        key=color,
        outcome="rendered",
        mode=target.mode,
        width=target.width,
        height=target.height,
        background=color,
        picture=content.getvalue(),
    )
