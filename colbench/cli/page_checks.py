"""What `colbench validate` finds out about a task of frontend design.

The reference is rendered by two browsers, started one after the other, without the store of renders.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.cli.checks import MODES, TaskCheck
from colbench.errors import ScorerError
from colbench.pages.extract import extract_page
from colbench.score import Score
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.sandbox.browser import Renderer
    from colbench.scorers.frontend import ClipEncoder, FrontendScorer


async def check_pages(
    tasks: Sequence[Task],
    make_renderer: Callable[[Path], Renderer],
    clip: ClipEncoder | None,
    done: Callable[[], None],
) -> list[TaskCheck]:
    """Check tasks of frontend design; `done` is called after each.

    `make_renderer` makes a renderer that keeps its renders in the folder given; `clip` has been entered.
    """
    from colbench.scorers.frontend import FrontendScorer

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        async with make_renderer(Path(first)) as renderer:
            before = await asyncio.gather(*(_picture(renderer, task) for task in tasks))
        async with make_renderer(Path(second)) as renderer:
            scorer = FrontendScorer(renderer, clip, tasks)

            async def check(task: Task, picture: str) -> TaskCheck:
                steady = picture == await _picture(renderer, task)
                result = await _check(scorer, task, steady)
                done()
                return result

            return await asyncio.gather(*map(check, tasks, before))


async def _picture(renderer: Renderer, task: Task) -> str:
    """A hash of how the reference is rendered."""
    reference = task.hidden.reference
    render = await renderer.render(extract_page(reference) or reference)
    return hashlib.sha256(render.picture or render.outcome.encode()).hexdigest()


async def _check(scorer: FrontendScorer, task: Task, steady: bool) -> TaskCheck:
    try:
        own = await scorer.score(task, task.hidden.reference)
        blank = await scorer.score(task, "")
    except ScorerError as error:
        return TaskCheck(
            id=task.id,
            domain=task.domain,
            default=None,
            official=None,
            blank=None,
            unsteady=not steady,
            flaws=(str(error),),
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


def _worth(score: Score) -> float | None:
    """The least of all that was measured: a page is worth 1 against itself by every measure, no page 0."""
    return min(score.metrics.values()) if score.metrics else score.value


def _flaws(own: dict[str, Score], steady: bool) -> Iterator[str]:
    if not steady:
        yield "does not render twice to the same picture"
    for mode in MODES:
        worth = _worth(own[mode])
        if worth not in (1, None):  # None: nothing to measure by, without CLIP's weights
            why = own[mode].note or f"{own[mode].metrics}"
            yield f"the reference scores {worth} in {mode} mode: {why}"
