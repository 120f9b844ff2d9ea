"""An import finder for the visible packages, which does not find other packages in the same folders."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


class ShownPackages(MetaPathFinder):
    """A finder for the named top-level modules in some folders, consulted after Python's own finders."""

    def __init__(self, names: Iterable[str], folders: Sequence[str]) -> None:
        self.names = frozenset(names)
        self.folders = list(folders)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a top-level module whose name is in `names`; None for any other module."""
        found = path is None and fullname in self.names
        return PathFinder.find_spec(fullname, self.folders, target) if found else None

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """Return the distributions in `folders`, so that packages can look up their own versions."""
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        own = DistributionFinder.Context(name=context.name, path=self.folders)
        return MetadataPathFinder.find_distributions(own)


def show_packages(names: Iterable[str], folders: Sequence[str], paths: Sequence[str]) -> None:
    """Make the top-level modules `names` importable from `folders`. `paths`: the packages' paths in these folders."""
    sys.meta_path.append(ShownPackages(names, folders))
    _list_folders(folders, paths)


def _list_folders(folders: Sequence[str], paths: Sequence[str]) -> None:
    """Have Python's finders cache the contents of the folders around `paths`; Landlock forbids listing them later."""
    known: set[str] = set()
    around = {os.path.dirname(path) for path in paths}
    while around:
        known |= around
        for folder in around:
            if (finder := pkgutil.get_importer(folder)) is not None:
                finder.find_spec("none", None)
        around = {os.path.dirname(folder) for folder in around - {*folders}} - known
