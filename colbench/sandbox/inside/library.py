"""The standard library and the time zone files in memory, for a tier that cannot open files."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path

_LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "pydoc_data"}
    | {"site-packages", "dist-packages", "__pycache__", "config-3"}
)
_TERMINAL = ("_test", "xx", "_xx", "_tkinter", "_curses", "readline", "nis", "_ctypes_test")


def hold_library() -> None:
    """Read the standard library's Python modules into memory and import its extensions; later imports need no file.

    A few modules are left out, such as tests and tkinter.
    """
    held = dict(_modules(sysconfig.get_path("stdlib")))
    read = SourceFileLoader.get_data

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        return held[path] if path in held else read(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign,assignment]
    importlib.import_module(
        "asyncio"
    )  # before its extension `_asyncio`, which would otherwise find asyncio half initialized
    for folder in sys.path:
        for entry in Path(folder).glob("*.so") if os.path.isdir(folder) else ():
            _import_extension(entry.name)


def zone_files() -> dict[str, bytes]:
    """Return the content of every time zone file by its path."""
    import zoneinfo

    folders = [folder for folder in zoneinfo.TZPATH if os.path.isdir(folder)]
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.is_file() and not {"posix", "right"} & set(path.parts)
    }


def _modules(top: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each module's bytecode or, if it has no bytecode, of its source.

    This also makes Python's finders cache the contents of all folders.
    """
    for folder, below, files in os.walk(top):
        below[:] = [name for name in below if name not in _LEFT_OUT]
        if (finder := pkgutil.get_importer(folder)) is not None:
            finder.find_spec("none", None)
        for name in files:
            if name.endswith(".py"):
                source = os.path.join(folder, name)
                bytecode = cache_from_source(source)
                path = bytecode if os.path.exists(bytecode) else source
                yield path, Path(path).read_bytes()


def _import_extension(file: str) -> None:
    name = file.removesuffix(next(end for end in EXTENSION_SUFFIXES if file.endswith(end)))
    if not name.startswith(_TERMINAL):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
