"""The folder of a site, which is written under a temporary name and moved into place when it is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

from colbench.errors import UserError

MARK = ".colbench-site"
"""A file in every generated site; a folder without it is not overwritten."""
KEPT = ("gallery",)
"""Folders kept from the previous site: pictures are named by their content and do not have to be rendered again."""


class Folder:
    """A site being written; when the `with` block ends, it is moved into place, or removed after an exception."""

    def __init__(self, out: Path) -> None:
        self.out = out.resolve()
        self.draft = self.out.with_name(f".{self.out.name}.new")
        self.before = self.out.with_name(f".{self.out.name}.old")
        self.files = self.bytes = 0
        self._made: set[Path] = set()

    def __enter__(self) -> Folder:
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"--out {self.out}: a file, not a folder; use a folder")
        if (self.before / MARK).is_file() and not self.out.exists():
            self.before.replace(self.out)  # an earlier build was killed during the move into place
        if self.out.exists() and not (self.out / MARK).is_file() and any(self.out.iterdir()):
            raise UserError(
                f"--out {self.out}: this folder contains something other than a site; use "
                "another folder, or empty it"
            )
        for left in (self.before, self.draft):
            shutil.rmtree(left, ignore_errors=True)
        try:
            self.draft.mkdir(parents=True)
        except OSError as cause:
            raise UserError(
                f"--out {self.out}: cannot be written ({cause.strerror}); use another path"
            ) from cause
        for name in KEPT:
            if (self.out / name).is_dir():
                shutil.copytree(self.out / name, self.draft / name)
        self.write(MARK, b"")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            if self.out.exists():
                self.out.replace(self.before)
            self.draft.replace(self.out)
            shutil.rmtree(self.before, ignore_errors=True)
        else:
            shutil.rmtree(self.draft, ignore_errors=True)

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file; `name` is its path in the site."""
        path = self.place(name)
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        path.write_bytes(data)
        self.files += 1
        self.bytes += len(data)

    def place(self, name: str) -> Path:
        """Return the path at which to write a file of the site, and create the file's folder."""
        path = self.draft / name
        if path.parent not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(path.parent)
        return path
