"""Pictures of pages for the dialogue reader, from the store of renders; what is not there is not shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colbench.domains.frontend.gallery.album import Album, Shot
from colbench.pages.extract import extract_page, target_page
from colbench.pages.store import RenderStore
from colbench.task import Task


class Pictures:
    """Those of the pages of one entry; the files are in `gallery/` of the site."""

    def __init__(self, site: Path, renders: RenderStore, environment: str) -> None:
        self._album = Album(site, renders, environment)

    def of(self, task: Task, answer: str | None) -> Sequence[tuple[str, Shot]]:
        """Target, render and difference, those that there are."""
        target = target_page(task.hidden.reference)
        page = None if answer is None else extract_page(answer)
        pages = [target] if page is None else [target, page]
        self._album.take(pages, [(target, page)] if page is not None else [])
        shots = [("Target", self._album.page(target)), ("Render", self._album.page(page))]
        shots.append(("Difference", self._album.difference(target, page)))
        return [(name, shot) for name, shot in shots if shot.file]
