"""Pictures of a dialogue's pages, which are created when first viewed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.config import RunConfig
from colbench.domains.frontend.gallery.comparison import LEGEND, PageComparison
from colbench.domains.frontend.gallery.pages import shown_pages
from colbench.errors import RenderError, UserError
from colbench.pages.extract import target_page
from colbench.pages.store import RenderStore
from colbench.presentation import Comparison
from colbench.rollout import Rollout
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.sandbox.browser import Renderer

OTHER_BROWSER = (
    "The renders of the run are missing; these pictures were made by the browser of this machine."
)
WORKERS = 2


class RenderedPages:
    """Pictures of target, page and difference for every turn with a page.

    The pictures are created from the run's renders in the user's store. If the store lacks a render, because it was
    deleted or because the page timed out or crashed, a browser renders the page; the first such page starts the
    browser. Pictures are kept in `gallery/` in the run's folder.
    """

    legend = LEGEND

    def __init__(self, folder: Path, config: RunConfig, environment: str) -> None:
        self._folder = folder
        self._config = config
        self._environment = environment
        self._store = RenderStore()
        self._stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._renderer: Renderer | None = None

    def turns(self, rollout: Rollout) -> Sequence[int]:
        """Return the numbers of the turns with a page, counted from 1."""
        return [n for n, (_, page) in enumerate(shown_pages(rollout), start=1) if page]

    async def of(self, task: Task, rollout: Rollout, turn: int) -> Comparison:
        """Return the pictures of a turn's page.

        Raises UserError if the turn shows no page, the browser is missing or fails, or the pictures cannot be written.
        """
        page = [page for _, page in shown_pages(rollout)][turn - 1]
        if page is None:
            raise UserError(f"turn {turn} shows no page")
        recorded = PageComparison(self._folder, self._store, self._environment)
        if await asyncio.to_thread(recorded.can_compare, task, page):
            return await asyncio.to_thread(recorded.compare, task, page)
        return await self._render(task, page)

    async def _render(self, task: Task, page: str) -> Comparison:
        renderer = await self._started()
        try:
            for each in (target_page(task.hidden.reference), page):
                await renderer.render(each)
        except RenderError as error:
            raise UserError(f"the browser failed: {error}") from error
        comparison = PageComparison(self._folder, self._store, renderer.environment)
        found = await asyncio.to_thread(comparison.compare, task, page)
        same = renderer.environment == self._environment
        return found if same else _noted(found)

    async def _started(self) -> Renderer:
        """Return the renderer; start it on the first call."""
        from colbench.sandbox.browser import Renderer

        async with self._starting:
            if self._renderer is None:
                browser = self._config.browser
                own = browser if browser and shutil.which(browser) else None
                renderer = await asyncio.to_thread(Renderer, own, workers=WORKERS)
                self._renderer = await self._stack.enter_async_context(renderer)
            return self._renderer

    async def close(self) -> None:
        """Close the browser."""
        await self._stack.aclose()


def _noted(found: Comparison) -> Comparison:
    return Comparison(
        target=found.target, shown=found.shown, difference=found.difference, note=OTHER_BROWSER
    )
