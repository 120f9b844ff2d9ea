"""Pictures of target, page and difference, for the viewer and for the leaderboard's site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colbench.domains.frontend.gallery.album import Album, Shot
from colbench.pages.extract import extract_page, target_page
from colbench.pages.store import RenderStore
from colbench.presentation import Comparison, Picture
from colbench.task import Task

LEGEND = (
    "Difference: teal is only on the target, red only on the render, violet differs in "
    "color; gray is the same."
)


class PageComparison:
    """The pictures of pages next to their targets, from the store of renders."""

    legend = LEGEND

    def __init__(self, folder: Path, renders: RenderStore, environment: str) -> None:
        self._album = Album(folder, renders, environment)

    def can_compare(self, task: Task, page: str) -> bool:
        """Return True if `compare` needs no new render of the target or the page; see `Album.can_take`."""
        return self._album.can_take(target_page(task.hidden.reference), page)

    def compare(self, task: Task, page: str | None) -> Comparison:
        """Return the target, the page and their difference, each as a picture or as a note on why it is missing."""
        target = target_page(task.hidden.reference)
        pages = [target] if page is None else [target, page]
        self._album.take(pages, [(target, page)] if page is not None else [])
        return Comparison(
            target=_picture("Target", self._album.page(target)),
            shown=_picture("Render", self._album.page(page)),
            difference=_picture("Difference", self._album.difference(target, page)),
        )

    def of(self, task: Task, answer: str | None) -> Sequence[Picture]:
        """Return the pictures (target, answer, difference) that exist or can be created from stored renders."""
        found = self.compare(task, None if answer is None else extract_page(answer))
        return [each for each in (found.target, found.shown, found.difference) if each.file]


def _picture(name: str, shot: Shot) -> Picture:
    return Picture(name=name, file=shot.file, width=shot.width, height=shot.height, note=shot.note)
