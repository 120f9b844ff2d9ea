"""Pictures of pages, as the harness shows them to the human."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from colbench.pages.render import Render
from colbench.resources import open_renderer
from sweet_rl_trainer.console import progress
from sweet_rl_trainer.data.pictures import Picture

AT_ONCE = 64
"""Renders in memory at the same time."""


class Camera:
    """Renders the pages of a domain and keeps their pictures; a page that was rendered before is not rendered again."""

    def __init__(self, domain: str, keep: Callable[[bytes], Picture]) -> None:
        """Create a camera for pages of a domain. `keep` stores a PNG file, such as `Album.add`."""
        self._domain = domain
        self._keep = keep
        self._known: dict[str, Picture | None] = {}

    def __call__(self, page: str) -> Picture | None:
        """Return the picture of a page; None if it cannot be shown. Raises RenderError if the browser fails."""
        self.take([page])
        return self._known[page]

    def take(self, pages: Iterable[str]) -> None:
        """Render pages together, which is faster than one by one."""
        missing = [page for page in dict.fromkeys(pages) if page not in self._known]
        if missing:
            asyncio.run(self._take(missing))

    async def _take(self, pages: Sequence[str]) -> None:
        with progress("pages", len(pages)) as advance:
            async with open_renderer(self._domain) as renderer:
                for start in range(0, len(pages), AT_ONCE):
                    some = pages[start : start + AT_ONCE]
                    renders = await asyncio.gather(*map(renderer.render, some))
                    for page, render in zip(some, renders, strict=True):
                        self._known[page] = self._kept(render)
                        advance()

    def _kept(self, render: Render) -> Picture | None:
        return self._keep(render.picture) if render.outcome == "rendered" else None

    @property
    def unseen(self) -> int:
        """The number of pages that could not be shown."""
        return sum(picture is None for picture in self._known.values())
