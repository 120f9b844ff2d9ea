"""The pictures of a run: taken from the store of renders, made small, kept beside the report.

A picture is made once; where it is there already, the store is not asked for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from colbench.errors import UserError
from colbench.pages.extract import extract_page
from colbench.pages.store import RenderStore, render_key
from colbench.report import pictures

NAME = 24
"""Hexadecimal digits of a render's key in the name of its file."""
LOST = "No render of this page is kept here; `colbench score {run}` makes it again."
NO_PAGE = "No page was shown."
Pair = tuple[str, str]


class Shot(Struct, frozen=True, kw_only=True):
    """A picture in the gallery's folder, or why there is none."""

    file: str = ""
    width: int = 0
    height: int = 0
    note: str = ""


class Album:
    """The pictures of one run's pages, in the default viewport.

    `folder`: of the run; the pictures are in `gallery/` within. `environment`: the one that `run.json` records.
    """

    def __init__(self, folder: Path, store: RenderStore, environment: str) -> None:
        self._run = folder
        self._folder = folder / "gallery"
        self._store = store
        self._environment = environment
        self._shots: dict[str | Pair, Shot] = {}

    def take(self, pages: Iterable[str], pairs: Iterable[tuple[str, str]]) -> None:
        """Make the pictures of these messages' pages, and of how these pairs differ, at once on every core.

        Raises UserError when they cannot be written.
        """
        keys = {key for message in pages if (key := self._key(message))}
        both = {(one, other) for a, b in pairs if (one := self._key(a)) and (other := self._key(b))}
        try:
            self._folder.mkdir(exist_ok=True)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                self._shots |= zip(keys, pool.map(self._page, keys), strict=True)
                self._shots |= zip(both, pool.map(self._pair, both), strict=True)
        except OSError as cause:
            raise UserError(f"{self._folder}: cannot be written: {cause.strerror}") from cause

    def page(self, message: str) -> Shot:
        """The page that a message shows."""
        key = self._key(message)
        return self._shots[key] if key else Shot(note=NO_PAGE)

    def difference(self, target: str, final: str) -> Shot:
        """How the pages of two messages differ."""
        one, other = self._key(target), self._key(final)
        if one and one == other:
            return Shot(note="The same page.")
        if one and other:
            return self._shots[one, other]
        return Shot(note="There is nothing to compare.")

    def _key(self, message: str) -> str | None:
        page = extract_page(message)
        return render_key(page, "default", self._environment) if page else None

    def _page(self, key: str) -> Shot:
        return self._kept(f"{key[:NAME]}.webp", key, pictures.thumbnail)

    def _pair(self, pair: Pair) -> Shot:
        target, final = pair
        rendered = self._store.get(target)
        if not (rendered and rendered.picture):
            return Shot(note="There is no picture of the target to compare with.")
        name = f"{target[:NAME]}-{final[:NAME]}.webp"
        return self._kept(name, final, lambda made: pictures.difference(rendered.picture, made))

    def _kept(self, name: str, key: str, make: Callable[[bytes], bytes]) -> Shot:
        path = self._folder / name
        if path.exists():
            picture = path.read_bytes()
        else:
            render = self._store.get(key)
            if render is None:
                return Shot(note=LOST.format(run=self._run))
            if not render.picture:
                return Shot(note=f"Not rendered: {render.note or render.outcome}.")
            picture = make(render.picture)
            _write(path, picture)
        width, height = pictures.size_of(picture)
        return Shot(file=f"{self._folder.name}/{name}", width=width, height=height)


def _write(path: Path, content: bytes) -> None:
    draft = path.with_suffix(f".{os.getpid()}.new")
    draft.write_bytes(content)
    draft.replace(path)
