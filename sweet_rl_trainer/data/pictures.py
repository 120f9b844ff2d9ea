"""Pictures of pages, resized to the model's limits, and stored in a folder by their content.

    FOLDER/NAME.png          NAME is the SHA-256 of the file
    FOLDER/pages-SIZE.jsonl  an index of the pages with the name of each picture, so that a page is rendered once for
                             all stages; SIZE: the minimum and maximum number of pixels of a picture, and the edge
                             of an image token in pixels

A picture is stored in exactly the size that the model's image processor would give it, so it is resized only once.
"""

from __future__ import annotations

import io
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct


class Picture(Struct, frozen=True, kw_only=True):
    """A stored picture."""

    name: str
    tokens: int
    """Number of image tokens that represent the picture in the model."""


class _Kept(Struct, frozen=True, kw_only=True):
    """A line of the index file `pages-SIZE.jsonl`."""

    page: str
    picture: Picture


class Album:
    """A folder with pictures of pages; a picture has at most `max_pixels` pixels."""

    def __init__(self, folder: Path, processor: Any, *, max_pixels: int) -> None:
        """Create an album. The size bounds of the model's image `processor` apply in addition to `max_pixels`."""
        self.folder = folder
        self._least: int = processor.size["shortest_edge"]
        self._most: int = min(max_pixels, processor.size["longest_edge"])
        self._edge: int = processor.patch_size * processor.merge_size
        self._index = folder / f"pages-{self._least}-{self._most}-{self._edge}.jsonl"

    @property
    def most_tokens(self) -> int:
        """The maximum number of image tokens of a picture."""
        return self._most // self._edge**2

    def find(self, page: str) -> Picture | None:
        """Return the stored picture of a page, given the page's digest; None if no picture is stored."""
        found = self._pages.get(page)
        return found if found and self._path(found.name).is_file() else None

    @cached_property
    def _pages(self) -> dict[str, Picture]:
        lines = self._index.read_bytes().splitlines() if self._index.is_file() else []
        return {kept.page: kept.picture for kept in map(_line, lines) if kept}

    def add(self, page: str, png: bytes) -> Picture:
        """Resize the picture of a page, store it, and return its entry; `page` is the page's digest."""
        from PIL import Image
        from PIL.Image import Resampling
        from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

        with Image.open(io.BytesIO(png)) as opened:
            image = opened.convert("RGB")
        height, width = smart_resize(
            image.height, image.width, self._edge, min_pixels=self._least, max_pixels=self._most
        )
        file = io.BytesIO()
        image.resize((width, height), Resampling.BICUBIC).save(file, "PNG")
        name = sha256(file.getvalue()).hexdigest()
        self._write(name, file.getvalue())
        picture = Picture(name=name, tokens=(height // self._edge) * (width // self._edge))
        with self._index.open("ab") as index:
            index.write(msgspec.json.encode(_Kept(page=page, picture=picture)) + b"\n")
        self._pages[page] = picture
        return picture

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.png"

    def _write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_bytes(content)
            part.replace(path)


def _line(line: bytes) -> _Kept | None:
    """Return a line of the index; None if it is incomplete because a process was killed while writing it."""
    try:
        return msgspec.json.decode(line, type=_Kept)
    except msgspec.DecodeError:
        return None
