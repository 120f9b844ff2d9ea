"""Target, render and difference of a page, for the leaderboard's site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colbench.domains.frontend.gallery.album import Album
from colbench.pages.extract import extract_page, target_page
from colbench.pages.store import RenderStore
from colbench.presentation import Picture
from colbench.task import Task


class PageComparison:
    """The pictures of final pages, from the store of renders; what was not rendered is not shown."""

    legend = (
        "Difference: blue-green is on the target only, red on the render only, violet has another color; "
        "gray is the same."
    )

    def __init__(self, folder: Path, renders: RenderStore, environment: str) -> None:
        self._album = Album(folder, renders, environment)

    def of(self, task: Task, answer: str | None) -> Sequence[Picture]:
        """Return target, render and difference, as far as there are renders."""
        target = target_page(task.hidden.reference)
        page = None if answer is None else extract_page(answer)
        pages = [target] if page is None else [target, page]
        self._album.take(pages, [(target, page)] if page is not None else [])
        shots = {
            "Target": self._album.page(target),
            "Render": self._album.page(page),
            "Difference": self._album.difference(target, page),
        }
        return [
            Picture(name=name, file=shot.file, width=shot.width, height=shot.height)
            for name, shot in shots.items()
            if shot.file
        ]
