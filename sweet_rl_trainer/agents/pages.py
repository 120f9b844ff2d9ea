"""Pictures of pages, as the harness shows them to the human."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from colbench.config import digest
from colbench.pages.render import Render
from colbench.resources import open_renderer
from sweet_rl_trainer.console import progress
from sweet_rl_trainer.data.pictures import Album, Picture

AT_ONCE = 64
"""Maximum number of pages that are rendered at the same time."""


class Camera:
    """A camera that renders each page of a domain once, and stores the pictures in an album."""

    def __init__(self, domain: str, album: Album) -> None:
        """Create a camera for pages of a domain; the pictures go to `album`."""
        self._domain = domain
        self._album = album
        self._known: dict[str, Picture | None] = {}

    def __call__(self, page: str) -> Picture | None:
        """Return the picture of a page; None if it cannot be rendered. Raises RenderError if the browser fails."""
        self.take([page])
        return self._known[page]

    def take(self, pages: Iterable[str]) -> None:
        """Render the pages that are not in the album, many at the same time, which is faster than one by one."""
        missing = []
        for page in dict.fromkeys(pages):
            if page in self._known:
                continue
            if found := self._album.find(self._key(page)):
                self._known[page] = found
            else:
                missing.append(page)
        if missing:
            asyncio.run(self._take(missing))

    async def _take(self, pages: Sequence[str]) -> None:
        with progress("pages", len(pages)) as advance:
            async with open_renderer(self._domain) as renderer:
                for start in range(0, len(pages), AT_ONCE):
                    some = pages[start : start + AT_ONCE]
                    renders = await asyncio.gather(*map(renderer.render, some))
                    for page, render in zip(some, renders, strict=True):
                        self._known[page] = self._kept(page, render)
                        advance()

    def _kept(self, page: str, render: Render) -> Picture | None:
        if render.outcome != "rendered":
            return None
        return self._album.add(self._key(page), render.picture)

    def _key(self, page: str) -> str:
        return digest([self._domain, page])

    @property
    def unseen(self) -> int:
        """The number of pages that could not be rendered."""
        return sum(picture is None for picture in self._known.values())
