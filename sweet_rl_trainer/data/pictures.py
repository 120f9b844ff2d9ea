"""Pictures of pages: shrunk to what a model is to see, and kept in a folder by their content.

    FOLDER/NAME.png     NAME is the SHA-256 of the file

A picture is kept in exactly the size that the model's image processor would give it, so it is resized once.
"""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct


class Picture(Struct, frozen=True, kw_only=True):
    """A picture that is kept."""

    name: str
    tokens: int
    """Image tokens that the model sees of it."""


class Album:
    """Keeps pictures in a folder, each with at most `max_pixels` pixels."""

    def __init__(self, folder: Path, processor: Any, *, max_pixels: int) -> None:
        """Create an album. `processor` is the model's image processor, whose own bounds apply as well."""
        self.folder = folder
        self._least: int = processor.size["shortest_edge"]
        self._most: int = min(max_pixels, processor.size["longest_edge"])
        self._edge: int = processor.patch_size * processor.merge_size

    @property
    def most_tokens(self) -> int:
        """The number of image tokens of the largest picture."""
        return self._most // self._edge**2

    def add(self, png: bytes) -> Picture:
        """Shrink a picture and keep it."""
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
        return Picture(name=name, tokens=(height // self._edge) * (width // self._edge))

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / f"{name}.png"
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_bytes(content)
            part.replace(path)
