"""The folder of a site, which is written under a temporary name and moved into place when it is complete.

Only one process at a time writes a site: it locks the file `.NAME.lock` next to the folder.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from colbench.errors import UserError
from colbench_leaderboard.store.lock import held

MARK = ".colbench-site"
"""A file in every generated site; a folder with content but without this file is never overwritten."""
GALLERY = "gallery"
"""The folder of pictures. Pictures of the previous site are used again if the new pages show them."""


class Folder:
    """A site being written.

    When the `with` block ends, the site is moved into place or, after an exception, removed.
    """

    def __init__(self, out: Path) -> None:
        self.out = out.resolve()
        self.draft = self.out.with_name(f".{self.out.name}.new")
        self.before = self.out.with_name(f".{self.out.name}.old")
        self.files = self.bytes = 0
        self.pictures: set[str] = set()
        """Paths of the pictures that the pages show; other pictures are deleted."""
        self._made: set[Path] = set()
        self._lock = ExitStack()

    def __enter__(self) -> Folder:
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise self._unwritable(cause) from cause
        with ExitStack() as lock:
            lock.enter_context(
                held(self.out.with_name(f".{self.out.name}.lock"), f"--out {self.out}")
            )
            self._begin()
            self._lock = lock.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            if kind is None:
                self._move()
            else:
                shutil.rmtree(self.draft, ignore_errors=True)

    def _begin(self) -> None:
        """Create the draft, with the pictures of the previous site."""
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
            self.draft.mkdir()
        except OSError as cause:
            raise self._unwritable(cause) from cause
        if (self.out / GALLERY).is_dir():
            shutil.copytree(self.out / GALLERY, self.draft / GALLERY)
        self.write(MARK, b"")

    def _move(self) -> None:
        """Move the draft into place, without the pictures that its pages do not show."""
        for path in (self.draft / GALLERY).glob("*"):
            if path.relative_to(self.draft).as_posix() not in self.pictures:
                path.unlink()
        if self.out.exists():
            self.out.replace(self.before)
        self.draft.replace(self.out)
        shutil.rmtree(self.before, ignore_errors=True)

    def _unwritable(self, cause: OSError) -> UserError:
        return UserError(
            f"--out {self.out}: cannot be written ({cause.strerror}); use another path"
        )

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
