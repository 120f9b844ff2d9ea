"""Locations of tasks on this machine, which remain hidden from an isolated agent even inside visible folders."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from msgspec import Struct

from colbench.cache import cache_folder
from colbench.config import RunConfig

_GROUPS = ("colbench.tasks", "colbench.families")
_INSTALLED = ("site-packages", "dist-packages")
_RUNS = "runs"
"""Default folder of runs, used without `--out`."""


class Hidden(Struct, frozen=True):
    """Files and folders to hide, with symbolic links resolved."""

    places: tuple[Path, ...]
    """Paths that are never visible, including their contents."""
    checkouts: tuple[Path, ...]
    """Source checkouts that contain tasks; in them, only the files that a `View` shows remain visible."""

    @property
    def packages(self) -> set[str]:
        """The names of the packages among `places`."""
        return {place.name for place in self.places if (place / "__init__.py").is_file()}

    def holds(self, place: Path) -> bool:
        """Return True if a path is one of `places`, or inside one."""
        return any(place.is_relative_to(hidden) for hidden in self.places)

    def in_checkout(self, place: Path) -> bool:
        """Return True if a path is a known checkout or inside one; False for files of the running Python."""
        python = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
        if any(place.is_relative_to(prefix) for prefix in python):
            return False
        return any(place.is_relative_to(checkout) for checkout in self.checkouts)

    def is_checkout(self, folder: Path) -> bool:
        """Return True if a folder is a known checkout, or if a subfolder has an entry with a hidden package's name."""
        inner = (folder.glob(f"*/{name}") for name in self.packages)
        return folder in self.checkouts or any(any(found) for found in inner)


def find_hidden(config: RunConfig, out: Path | None) -> Hidden:
    """Find the files that may contain tasks or dialogues about tasks; `out` is the run's folder, if any."""
    packages = list(_packages())
    places = [
        *packages,
        *_sources(config.tasks),
        *_hub(),
        *_caches(),
        Path(_RUNS),
        *(Path(path) for path in (out, config.baseline, config.ceiling) if path),
    ]
    return Hidden(
        places=tuple(dict.fromkeys(path.expanduser().resolve() for path in places)),
        checkouts=tuple(dict.fromkeys(root for path in packages for root in _checkout(path))),
    )


def find_copies(hidden: Hidden, folders: Sequence[str]) -> list[str]:
    """Return further paths to hide: hard links to hidden files, and installed copies of hidden packages.

    Hard links are searched for in `folders`, and installed copies in the package folders of `folders` and of /usr.
    """
    installed = [f"{each}lib*/python*/*-packages" for each in ("", "local/", "envs/*/")]
    patterns = [f"{place}/{name}" for place in installed for name in hidden.packages]
    found = [
        path
        for folder in ("/usr", *folders)
        for each in patterns
        for path in Path(folder).glob(each)
    ]
    files = [path.stat() for path in hidden.places if path.is_file()]
    linked = {(file.st_dev, file.st_ino) for file in files if file.st_nlink > 1}
    links = [path for path in _files_in(folders) if _identity(path) in linked] if linked else []
    return [*map(str, found), *links]


def linked_outside(hidden: Hidden, covered: Iterable[str]) -> list[Path]:
    """Return the hidden files that also have hard links at paths other than `covered`."""
    known = Counter(map(_identity, covered))
    files = [(path, path.stat()) for path in hidden.places if path.is_file()]
    return [path for path, file in files if file.st_nlink > known[file.st_dev, file.st_ino]]


def _files_in(folders: Sequence[str]) -> Iterator[str]:
    """Yield the paths of the files in folders, at any depth. Nested folders are read only once."""
    todo = [*folders]
    seen = set(todo)
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield entry.path
                elif entry.is_dir(follow_symlinks=False) and entry.path not in seen:
                    todo.append(entry.path)


def _identity(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _packages() -> Iterator[Path]:
    """Yield the paths of the packages that provide tasks, including all copies on `sys.path`; import none of them."""
    points = chain.from_iterable(entry_points(group=group) for group in _GROUPS)
    for name in sorted({point.module.partition(".")[0] for point in points}):
        spec = find_spec(name)
        files = [Path(spec.origin)] if spec and spec.origin else []
        for folder in (Path(entry or ".", name) for entry in sys.path):
            files += [folder / "__init__.py", folder.with_suffix(".py")]
        for file in (each.resolve() for each in files if each.is_file()):
            yield file.parent if file.name == "__init__.py" else file


def _checkout(package: Path) -> Iterator[Path]:
    """Yield the project folder of a package that is installed from a checkout."""
    if not any(part in _INSTALLED for part in package.parts):
        roots = (path for path in package.parents if (path / "pyproject.toml").is_file())
        yield from list(roots)[-1:]


def _sources(spec: str) -> Iterator[Path]:
    """Yield the files and folders that a task source names."""
    for part in (spec, spec.partition(":")[2]):
        path = Path(part).expanduser()
        if part and path.exists():
            yield path


def _caches() -> Iterator[Path]:
    """Yield ColBench's cache folder, and also the default cache folders, which earlier runs may have filled."""
    yield cache_folder()
    for folder in ("~/.cache", os.environ.get("XDG_CACHE_HOME")):
        if folder:
            yield Path(folder, "colbench")


def _hub() -> Iterator[Path]:
    """Yield the cached datasets of the Hugging Face Hub and, if COLBENCH_OFFICIAL_DIR is set, the folder it names."""
    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE", f"{home}/hub")).expanduser()
    yield from hub.glob("datasets--*")
    yield Path(os.environ.get("HF_DATASETS_CACHE", f"{home}/datasets"))
    local = os.environ.get("COLBENCH_OFFICIAL_DIR")
    if local:
        yield Path(local)
