"""Installed packages that candidates may import: exactly the requested packages and their runtime dependencies.

The metadata of each distribution lists its files. Folders that belong to one distribution become visible as a whole. In
shared folders, only the distribution's files become visible, so that the host's other packages remain hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import PurePath

from msgspec import Struct

from colbench.errors import UserError


class Packages(Struct, frozen=True, kw_only=True):
    """The requested packages and their dependencies, which candidates can see."""

    versions: tuple[str, ...] = ()
    """Names and versions of the requested packages, such as `numpy 2.4.6`."""
    preloaded: tuple[str, ...] = ()
    """Modules of the requested packages, which each server imports at its start."""
    names: tuple[str, ...] = ()
    """Names of all visible top-level modules."""
    folders: tuple[str, ...] = ()
    """Folders in which these packages are installed, such as `site-packages`."""
    paths: tuple[str, ...] = ()
    """Files and folders of these packages inside `folders`; candidates see them at the same paths."""


def find_packages(names: Sequence[str]) -> Packages:
    """Find the distributions with these names, and their dependencies.

    Raises UserError if one of the named distributions is not installed, or if its metadata lists no modules.
    """
    wanted = [_installed(name) for name in dict.fromkeys(names)]
    if not wanted:
        return Packages()
    shown = [*wanted, *_required(wanted)]
    entries = {_place(dist, entry) for dist in shown for entry in _entries(dist)}
    return Packages(
        versions=tuple(f"{dist.metadata['Name']} {dist.version}" for dist in wanted),
        preloaded=tuple(name for dist in wanted for name in _preloaded(dist)),
        names=tuple(sorted({name for dist in shown for name in _modules(dist)})),
        folders=tuple(sorted({_place(dist, "") for dist in shown})),
        paths=tuple(sorted(entries)),
    )


def _installed(name: str) -> Distribution:
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError) as cause:
        raise UserError(
            f"--sandbox-packages: {name} is not installed; pip install {name}"
        ) from cause
    if not _modules(found):
        raise UserError(
            f"--sandbox-packages: {name} has no modules that answers could import; if you "
            "installed it with `pip install --editable`, install it again without `--editable`"
        )
    return found


def _required(wanted: Iterable[Distribution]) -> list[Distribution]:
    """Return the installed distributions that `wanted` requires, directly or indirectly, except for optional extras."""
    found: dict[str, Distribution] = {}
    pending = list(wanted)
    known = {_normal(dist.metadata["Name"]) for dist in pending}
    while pending:
        for requirement in pending.pop().requires or ():
            name = _normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
            if name in known or "extra ==" in requirement:
                continue
            known.add(name)
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:  # required on another system or by another Python
                continue
            pending.append(found[name])
    return list(found.values())


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _place(dist: Distribution, entry: str) -> str:
    return str(dist.locate_file(entry)).rstrip("/")


def _files(dist: Distribution) -> list[PurePath]:
    """Return the files of a distribution inside the folder of installed packages, without cached bytecode."""
    return [
        file
        for file in dist.files or ()
        if file.parts[0] != ".." and "__pycache__" not in file.parts
    ]


def _entries(dist: Distribution) -> set[str]:
    """Return the topmost packages and metadata folders of a distribution, and its files outside these folders."""
    files = _files(dist)
    packages = {str(file.parent) for file in files if file.name == "__init__.py"}
    return {_largest(file, packages) for file in files}


def _largest(file: PurePath, packages: set[str]) -> str:
    for parent in reversed(file.parents[:-1]):
        if str(parent) in packages or parent.name.endswith(".dist-info"):
            return str(parent)
    return str(file)


def _modules(dist: Distribution) -> set[str]:
    """Return the names of the top-level modules and packages, including namespace packages.

    A helper module that setuptools writes for an editable installation does not count.
    """
    names = {
        file.parts[0].partition(".")[0] for file in _files(dist) if file.suffix in (".py", ".so")
    }
    return {name for name in names if not name.startswith("__editable__")}


def _preloaded(dist: Distribution) -> list[str]:
    """Return a package's public top-level modules. For numpy, add `numpy.random`, whose generator must be seeded."""
    names = sorted(name for name in _modules(dist) if not name.startswith("_"))
    return [*names, "numpy.random"] if "numpy" in names else names
