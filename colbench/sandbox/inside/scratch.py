"""The files that a candidate creates in /tmp, which exist only in the candidate's memory until its current call ends.

No safe tier lets a candidate create a file, and one tier does not even let it open a file. So that the same programs
work in all tiers, `open` and the most common functions of `os` that take a path are replaced in every tier. Files in
/tmp, the working folder, are anonymous files (memfd_create(2)). For the candidate, a path that is neither in /tmp nor
in the visible part of the host does not exist. The replaced functions are not a security barrier: in safe tiers, the
kernel stops code that bypasses them.
"""

# ruff: noqa: ARG002, PLR0917  # the signatures are those of `os` and `io`

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Self

ROOT = "/tmp"  # noqa: S108  # the host's own /tmp is not used
FILE_BYTES = 2 << 20
"""Maximum size of a file in bytes; the kernel enforces it."""
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes] | int


class Scratch:
    """The candidate's files in memory, and the functions that replace file functions of `os` and `io`.

    Of the host's files, only those under the paths in `visible` can be read. `held` maps the paths of host files to
    their contents, for a sandbox tier in which files cannot be opened. Opening a file in memory for reading gives a
    copy of its content at that time.
    """

    def __init__(self, visible: list[str], held: Mapping[str, bytes]) -> None:
        self._visible = tuple(visible)
        self._held = held
        self._entries: dict[str, int | None] = {ROOT: None}
        """The descriptor of each file by path; None for a folder."""

    def install(self) -> None:
        """Replace the file functions of `os`, `io` and the built-ins in this process."""
        self._on_host = {name: getattr(os, name) for name in _REPLACED}
        self._open_on_host = io.open
        for name in _REPLACED:
            setattr(os, name, staticmethod(getattr(self, name)))
        builtins.open = io.open = staticmethod(self.open_file)
        for name in [name for name in sys.modules if name.partition(".")[0] in _CAPTURING]:
            del sys.modules[name]

    def clear(self) -> None:
        """Remove every file and folder."""
        for descriptor in self._entries.values():
            if descriptor is not None:
                os.close(descriptor)
        self._entries = {ROOT: None}

    def open_file(
        self,
        file: _Path,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Replace `io.open`."""
        own = self.open if opener is None and not isinstance(file, int) else opener
        return self._open_on_host(file, mode, buffering, encoding, errors, newline, closefd, own)

    def open(self, path: _Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Replace `os.open`."""
        full = self._full(path)
        if not self._is_scratch(full):
            return self._open_visible(full, flags)
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            return _new_file()
        descriptor = self._file(full, flags)
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return _new_file(os.pread(descriptor, FILE_BYTES, 0))
        os.lseek(descriptor, 0, os.SEEK_END if flags & os.O_APPEND else os.SEEK_SET)
        return os.dup(descriptor)

    def stat(self, path: _Path, **options: Any) -> os.stat_result:
        """Replace `os.stat`."""
        return self._stat("stat", path, options)

    def lstat(self, path: _Path, **options: Any) -> os.stat_result:
        """Replace `os.lstat`."""
        return self._stat("lstat", path, options)

    def access(self, path: _Path, mode: int, **options: Any) -> bool:
        """Replace `os.access`."""
        try:
            full = self._full(path)
            if self._is_scratch(full):
                return self._entry(full) is None or not mode & os.X_OK
            return bool(self._on_host["access"](self._seen(full), mode, **options))
        except OSError:
            return False

    def listdir(self, path: _Path = ".") -> list[Any]:
        """Replace `os.listdir`."""
        names = [entry.name for entry in self.scandir(path)]
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: _Path = ".") -> Any:
        """Replace `os.scandir`."""
        full = self._full(path)
        if not self._is_scratch(full):
            return self._on_host["scandir"](self._seen(full, ancestors=False))
        self._require_folder(full)
        shown = os.fsdecode(path) if not isinstance(path, int) else full
        return _Listing(
            _Entry(name, os.path.join(shown, name), self.stat(f"{full}/{name}"))
            for name in self._names(full)
        )

    def mkdir(self, path: _Path, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Replace `os.mkdir`."""
        full = self._own(path)
        if full in self._entries:
            raise _error(errno.EEXIST, full)
        self._require_folder(os.path.dirname(full))
        self._entries[full] = None

    def rmdir(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """Replace `os.rmdir`."""
        full = self._own(path)
        self._require_folder(full)
        if full == ROOT or self._names(full):
            raise _error(errno.ENOTEMPTY, full)
        del self._entries[full]

    def unlink(self, path: _Path, *, dir_fd: int | None = None) -> None:
        """Replace `os.unlink`."""
        full = self._own(path)
        descriptor = self._entry(full)
        if descriptor is None:
            raise _error(errno.EISDIR, full)
        os.close(descriptor)
        del self._entries[full]

    remove = unlink

    def rename(self, src: _Path, dst: _Path, **options: Any) -> None:
        """Replace `os.rename`."""
        old, new = self._own(src), self._own(dst)
        moved = self._entry(old)
        if old != new and f"{new}/".startswith(f"{old}/"):
            raise _error(errno.EINVAL, new)
        self._require_folder(os.path.dirname(new))
        if new != old and new in self._entries:
            self.rmdir(new) if moved is None else self.unlink(new)
        for path in [path for path in self._entries if f"{path}/".startswith(f"{old}/")]:
            self._entries[new + path[len(old) :]] = self._entries.pop(path)

    replace = rename

    def chmod(self, path: _Path, mode: int, **options: Any) -> None:
        """Replace `os.chmod`: check the path, but do not change the mode of the file."""
        self._entry(self._own(path))

    def utime(self, path: _Path, *times: Any, **options: Any) -> None:
        """Replace `os.utime`: check the path, but do not change the times of the file."""
        self._entry(self._own(path))

    def truncate(self, path: _Path, length: int) -> None:
        """Replace `os.truncate`."""
        os.ftruncate(path if isinstance(path, int) else self._file(self._own(path), 0), length)

    def _stat(self, name: str, path: _Path, options: dict[str, Any]) -> os.stat_result:
        full = path if isinstance(path, int) else self._full(path)
        if isinstance(full, int) or not self._is_scratch(full):
            known = full if isinstance(full, int) else self._seen(full)
            return self._on_host[name](known, **options)  # type: ignore[no-any-return]
        descriptor = self._entry(full)
        if descriptor is not None:
            return os.fstat(descriptor)
        return os.stat_result((stat.S_IFDIR | 0o700, 0, 0, 2, os.getuid(), os.getgid(), 0, 0, 0, 0))

    def _full(self, path: _Path) -> str:
        if isinstance(path, int):
            raise _error(errno.EPERM, "")
        text = os.fsdecode(path)
        if not text:
            raise _error(errno.ENOENT, text)
        if "\0" in text:
            raise ValueError("embedded null byte")
        return os.path.normpath(os.path.join(ROOT, text))

    def _is_scratch(self, full: str) -> bool:
        return f"{full}/".startswith(f"{ROOT}/") and not self._is_visible(full)

    def _is_visible(self, full: str) -> bool:
        return any(f"{full}/".startswith(f"{path}/") for path in self._visible)

    def _seen(self, full: str, *, ancestors: bool = True) -> str:
        """Return the path if it is visible or, with `ancestors`, if it contains a visible path.

        Raises FileNotFoundError otherwise.
        """
        above = full.rstrip("/") + "/"
        if self._is_visible(full) or (
            ancestors and any(path.startswith(above) for path in self._visible)
        ):
            return full
        raise _error(errno.ENOENT, full)

    def _own(self, path: _Path) -> str:
        """Return the path if it is in /tmp. Raises PermissionError otherwise."""
        full = self._full(path)
        if not self._is_scratch(full):
            raise _error(errno.EACCES, full)
        return full

    def _entry(self, full: str) -> int | None:
        """Return the descriptor of a file; None for a folder.

        Raises FileNotFoundError if the path does not exist, NotADirectoryError if one of its parents is a file.
        """
        if full not in self._entries:
            above = os.path.dirname(full)
            while above not in self._entries:
                above = os.path.dirname(above)
            raise _error(errno.ENOENT if self._entries[above] is None else errno.ENOTDIR, full)
        return self._entries[full]

    def _require_folder(self, full: str) -> None:
        if self._entry(full) is not None:
            raise _error(errno.ENOTDIR, full)

    def _names(self, folder: str) -> list[str]:
        return [
            path[len(folder) + 1 :]
            for path in self._entries
            if os.path.dirname(path) == folder and path != folder
        ]

    def _file(self, full: str, flags: int) -> int:
        """Return the descriptor of a file; create or empty the file as the flags specify."""
        if full not in self._entries and flags & os.O_CREAT:
            self._require_folder(os.path.dirname(full))
            self._entries[full] = _new_file()
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise _error(errno.EEXIST, full)
        descriptor = self._entry(full)
        if descriptor is None:
            raise _error(errno.EISDIR, full)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        return descriptor

    def _open_visible(self, full: str, flags: int) -> int:
        """Open a host file for reading. If the system refuses, open the copy in `held` instead.

        Raises PermissionError for flags that write, FileNotFoundError if neither the file nor a copy can be opened.
        """
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise _error(errno.EACCES, full)
        try:
            return self._on_host["open"](self._seen(full), flags)  # type: ignore[no-any-return]
        except PermissionError:
            if full in self._held:
                return _new_file(self._held[full])
            raise _error(errno.ENOENT, full) from None


_REPLACED = (
    "open", "stat", "lstat", "access", "listdir", "scandir", "mkdir", "rmdir", "unlink", "remove", "rename",
    "replace", "chmod", "utime", "truncate",
)  # fmt: skip
_CAPTURING = ("shutil", "tempfile", "glob", "pathlib")
"""Modules that keep references to the replaced functions, and therefore must be imported again."""


class _Entry:
    """A directory entry, like `os.DirEntry`."""

    def __init__(self, name: str, path: str, state: os.stat_result) -> None:
        self.name = name
        self.path = path
        self._state = state

    def __fspath__(self) -> str:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._state

    def inode(self) -> int:
        return self._state.st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISDIR(self._state.st_mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._state.st_mode)

    def is_symlink(self) -> bool:
        return False

    def is_junction(self) -> bool:
        return False


class _Listing:
    """The return value of `os.scandir`."""

    def __init__(self, entries: Iterator[_Entry]) -> None:
        self._entries = entries

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _new_file(content: bytes = b"") -> int:
    descriptor = os.memfd_create("scratch")
    if content:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
