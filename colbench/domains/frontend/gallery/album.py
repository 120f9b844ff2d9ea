"""The pictures of a run: read from the store of renders, reduced in size, and kept next to the report.

A picture is created once. If it exists, the store is not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from colbench.config import workers
from colbench.domains.frontend.gallery import pictures
from colbench.errors import UserError
from colbench.pages.store import RenderStore, render_key

NAME = 24
"""Number of hexadecimal digits of a render's key that appear in the file name of a picture."""
LOST = (
    "This page has no picture: rendering took too long or crashed the browser, or the render was "
    "lost. `colbench score {run}` renders the pages of finished dialogues again."
)
NO_PAGE = "No page was shown."
NOTHING_TO_COMPARE = "No page to compare with the target."
SAME = "The pages are the same."
Pair = tuple[str, str]
"""The target, and a page that is compared with it."""


class Shot(Struct, frozen=True, kw_only=True):
    """A picture in the gallery's folder, or the reason why it is missing."""

    file: str = ""
    width: int = 0
    height: int = 0
    note: str = ""


class Album:
    """The pictures of one run's pages, in the default viewport.

    `folder`: the run's folder, whose subfolder `gallery/` contains the pictures. `environment`: the environment of
    the renders, as recorded in `run.json`.
    """

    def __init__(self, folder: Path, store: RenderStore, environment: str) -> None:
        self._run = folder
        self._folder = folder / "gallery"
        self._store = store
        self._environment = environment
        self._shots: dict[str | Pair, Shot] = {}

    def can_take(self, target: str, page: str) -> bool:
        """Return True if pictures of both pages and their difference exist, or if renders of both pages are stored.

        A stored render may lack a picture, for example because the page is too big.
        """
        keys = sorted({self._key(target), self._key(page)})
        names = [_name(key) for key in keys]
        if target != page:
            names.append(_name(self._key(target), self._key(page)))
        made = all((self._folder / name).exists() for name in names)
        return made or all(self._store.get(key) for key in keys)

    def take(self, pages: Iterable[str], pairs: Iterable[Pair]) -> None:
        """Create a picture of each page, and a picture of the difference in each pair of a target and a page.

        Afterwards, `page` and `difference` return pictures of this call only, not of earlier calls. All cores are used.
        Raises UserError if the pictures cannot be written.
        """
        keys = set(map(self._key, pages))
        both = {(self._key(target), self._key(page)) for target, page in pairs if target != page}
        self._shots = {}
        try:
            self._folder.mkdir(exist_ok=True)
            with ThreadPoolExecutor(workers(0)) as pool:
                self._shots |= zip(keys, pool.map(self._page, keys), strict=True)
                self._shots |= zip(both, pool.map(self._pair, both), strict=True)
        except OSError as cause:
            raise UserError(
                f"{self._folder}: cannot be written: {cause.strerror or cause}"
            ) from cause

    def page(self, page: str | None) -> Shot:
        """Return the picture of a page from the last call of `take`, or only a note if `page` is None."""
        return self._shots[self._key(page)] if page else Shot(note=NO_PAGE)

    def difference(self, target: str, page: str | None) -> Shot:
        """Return the picture of the difference between a target and a page, from the last call of `take`.

        The result is only a note if `page` is None or the same as the target.
        """
        if page is None:
            return Shot(note=NOTHING_TO_COMPARE)
        if page == target:
            return Shot(note=SAME)
        return self._shots[self._key(target), self._key(page)]

    def _key(self, page: str) -> str:
        return render_key(page, "default", self._environment)

    def _page(self, key: str) -> Shot:
        return self._kept((key,), pictures.thumbnail)

    def _pair(self, pair: Pair) -> Shot:
        return self._kept(pair, pictures.difference)

    def _kept(self, keys: Sequence[str], make: Callable[..., bytes]) -> Shot:
        """Return the picture that `make` composes of the renders with these keys, or a note on why it is missing.

        The file of a picture is written only once.
        """
        name = _name(*keys)
        path = self._folder / name
        if not path.exists():
            renders = [self._store.get(key) for key in keys]
            for render in renders:
                if render is None:
                    return Shot(note=LOST.format(run=self._run))
                if not render.picture:
                    return Shot(note=f"Not rendered: {render.note or render.outcome}.")
            _write(path, make(*(render.picture for render in renders if render)))
        width, height = pictures.size_of(path.read_bytes())
        return Shot(file=f"{self._folder.name}/{name}", width=width, height=height)


def _name(*keys: str) -> str:
    """Return the file name of the picture of a render or, for two keys, of the difference between two renders."""
    return "-".join(key[:NAME] for key in keys) + ".webp"


def _write(path: Path, content: bytes) -> None:
    draft = path.with_suffix(f".{os.getpid()}.new")
    draft.write_bytes(content)
    draft.replace(path)
