"""Storage of renders as files `KEY.json` and `KEY.png`; KEY is a hash of everything that the render depends on.

Many processes may use one folder. Files are written atomically. Damaged entries are ignored. Entries whose picture does
not have the stored hash are ignored too.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.cache import cache_folder
from colbench.config import ScoringMode
from colbench.errors import RenderError, UserError
from colbench.pages.render import Render

SCHEMA = "colbench.render/1"
UNREADABLE = (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions that reading or decoding a damaged entry raises."""


class _Entry(Struct, frozen=True, kw_only=True):
    """A render in the form stored as JSON."""

    schema: str = SCHEMA
    picture: str
    """SHA-256 of the picture, which is in its own file."""
    render: Render


def _refusal(folder: Path, cause: OSError) -> str:
    return f"renders cannot be kept in {folder} ({cause.strerror}); set COLBENCH_CACHE to another folder"


def render_key(page: str | None, mode: ScoringMode, environment: str) -> str:
    """Return the key of a page's render: a hash of the page, the viewport and all else that affects the picture."""
    return _hash(msgspec.json.encode((page, mode, environment)))


def default_folder() -> Path:
    """Return COLBENCH_CACHE/renders, or ~/.cache/colbench/renders (see XDG_CACHE_HOME)."""
    return cache_folder() / "renders"


class RenderStore:
    """Renders in a folder, by default in `default_folder()`; `check` and `put` create the folder if needed."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def check(self) -> None:
        """Raise UserError unless the folder can be written to."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as cause:
            raise UserError(_refusal(self.folder, cause)) from cause

    def get(self, key: str) -> Render | None:
        """Return the render stored under a key, with its picture; None if nothing intact is stored."""
        try:
            entry = msgspec.json.decode(self._path(key, "json").read_bytes(), type=_Entry)
            render = entry.render
            picture = self._path(key, "png").read_bytes() if render.outcome == "rendered" else b""
        except UNREADABLE:
            return None
        if (entry.schema, render.key, _hash(picture)) != (SCHEMA, key, entry.picture):
            return None
        return replace(render, picture=picture)

    def put(self, render: Render) -> None:
        """Store this render under its key. Raises RenderError if the folder cannot be written to."""
        entry = _Entry(picture=_hash(render.picture), render=replace(render, picture=b""))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if render.picture:
                _write(self._path(render.key, "png"), render.picture)
            _write(self._path(render.key, "json"), msgspec.json.encode(entry))
        except OSError as cause:
            raise RenderError(_refusal(self.folder, cause)) from cause

    def _path(self, key: str, kind: str) -> Path:
        return self.folder / f"{key}.{kind}"


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write the file `path` atomically."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
