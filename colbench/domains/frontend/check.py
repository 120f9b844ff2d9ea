"""The check of frontend design tasks, for `colbench tasks validate` and datasheets.

Two browsers, started one after the other, render each reference; stored renders are not used. In each scoring mode,
both renders must have the same picture and the same visible blocks.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.checks import Bar, Examination, TaskCheck
from colbench.config import RunConfig, ScoringMode
from colbench.domains.frontend.clip import ClipEncoder
from colbench.domains.frontend.resources import make_renderer
from colbench.domains.frontend.scorer import FrontendScorer
from colbench.errors import InfrastructureError
from colbench.numbers import count
from colbench.pages.extract import target_page
from colbench.pages.render import PageRenderer
from colbench.score import Score
from colbench.task import Task

MODES: tuple[ScoringMode, ...] = ("default", "official")
UNSTEADY = "two renders differ in picture or blocks"


class Look(Struct, frozen=True, kw_only=True):
    """A hash of a reference's pictures and blocks in both scoring modes, or the reason why the browser failed."""

    digest: str = ""
    flaw: str = ""
    varies: bool = False
    """True if the renderer itself found that two loads of the reference differ."""


async def check_pages(
    tasks: Sequence[Task],
    config: RunConfig,
    clip: ClipEncoder | None,
    done: Callable[[], None],
) -> list[TaskCheck]:
    """Check frontend design tasks; `done` is called after each task.

    Without `clip`, CLIP's cosine is left out, and the reference is not scored in the mode `official`.
    """
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        async with make_renderer(config, Path(first)) as renderer:
            before = await asyncio.gather(*(_look(renderer, task) for task in tasks))
        async with make_renderer(config, Path(second)) as renderer:
            scorer = FrontendScorer(renderer, clip, tasks)

            async def check(task: Task, earlier: Look) -> TaskCheck:
                result = await _check(scorer, task, earlier, await _look(renderer, task))
                done()
                return result

            return await asyncio.gather(*map(check, tasks, before))


async def examine_pages(tasks: Sequence[Task], config: RunConfig, bar: Bar) -> Examination:
    """Check the tasks' pages, without computing CLIP's cosine; return the number of pages with each flaw."""
    if not tasks:
        return Examination()
    checks = await check_pages(tasks, config, None, bar("pages", len(tasks)))
    of = f"(of the {count(len(checks), 'page')} rendered)"
    flaws = Counter(flaw for check in checks if not check.unsteady for flaw in check.flaws)
    found = {
        "two renders of the page differ": sum(bool(check.unsteady) for check in checks),
        **flaws,
    }
    return Examination(flaws={f"{flaw} {of}": number for flaw, number in found.items()})


async def _look(renderer: PageRenderer, task: Task) -> Look:
    pages = [(target_page(task.hidden.reference, mode), mode) for mode in MODES]
    try:
        renders = [await renderer.render(page, mode) for page, mode in pages]
    except InfrastructureError as error:
        return Look(flaw=str(error))
    seen = [(render.outcome, render.picture, render.blocks) for render in renders]
    return Look(
        digest=hashlib.sha256(msgspec.msgpack.encode(seen)).hexdigest(),
        varies=any(render.outcome == "varies" for render in renders),
    )


async def _check(scorer: FrontendScorer, task: Task, first: Look, second: Look) -> TaskCheck:
    steady = first.digest == second.digest and not first.varies
    if flaw := first.flaw or second.flaw:
        return _unscored(task, flaw)
    try:
        own = await scorer.score(task, task.hidden.reference)
        blank = await scorer.score(task, "")
    except InfrastructureError as error:
        return _unscored(task, str(error), steady)
    if own["default"].floors["white"]["layout"] == 1:
        return _unscored(
            task, "nothing is visible on the page: an empty page scores the same", steady
        )
    return TaskCheck(
        id=task.id,
        domain=task.domain,
        default=_worth(own["default"]),
        official=_worth(own["official"]),
        blank=_worth(blank["default"]),
        unsteady=not steady,
        flaws=tuple(_flaws(own, steady)),
        floors=own["default"].floors,
    )


def _unscored(task: Task, flaw: str, steady: bool = True) -> TaskCheck:
    return TaskCheck(
        id=task.id,
        domain=task.domain,
        default=None,
        official=None,
        blank=None,
        unsteady=not steady,
        flaws=(flaw,) if steady else (UNSTEADY, flaw),
    )


def _worth(score: Score) -> float | None:
    """Return the lowest metric of a score; None if the score has no metrics.

    In the mode `default`, the result is 1 for a page compared with itself, and 0 for a missing page.
    """
    return min(score.metrics.values()) if score.metrics else score.value


def _flaws(own: dict[str, Score], steady: bool) -> Iterator[str]:
    if not steady:
        yield UNSTEADY
    for mode in MODES:
        worth = _worth(own[mode])
        if worth not in (1, None):  # None: not measured without CLIP's weights
            why = own[mode].note if own[mode].outcome else f"{own[mode].metrics}"
            yield f"the reference scores {worth} in {mode} mode: {why}"
