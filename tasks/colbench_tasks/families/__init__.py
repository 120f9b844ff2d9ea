"""The installed task families.

A family is one folder: `__init__.py` defines `FAMILY`, and `examples.txt` holds its example questions. A folder in
this package is found without further registration; another package names its folders in the entry-point group
`colbench.families`. docs/new-family.md shows how to write a family.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules

from msgspec.structs import replace

from colbench.errors import DataError, UserError, describe_exception
from colbench_tasks.family import Family
from colbench_tasks.notation import examples

logger = logging.getLogger("colbench")

GROUP = "colbench.families"
EXAMPLES = "examples.txt"


class Families(Mapping[str, Family]):
    """Families by name, each loaded on its first lookup.

    A lookup raises UserError if the family cannot be loaded or if several packages register its name.
    """

    def __init__(self, points: Iterable[EntryPoint]) -> None:
        self._points: dict[str, list[EntryPoint]] = {}
        self._loaded: dict[str, Family] = {}
        for point in points:
            self._points.setdefault(point.name, []).append(point)

    def __getitem__(self, name: str) -> Family:
        if name not in self._loaded:
            self._loaded[name] = _load(self._points[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._points

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def loadable(self) -> Iterator[Family]:
        """Yield the families that can be loaded; log a warning for each family that cannot."""
        for name in self:
            try:
                yield self[name]
            except UserError as cause:
                logger.warning("ignored: %s", cause)


def _load(points: list[EntryPoint]) -> Family:
    """Load a family and its example questions; `points` are the entry points with the family's name.

    Raises UserError if there are several entry points, or if the family cannot be loaded.
    """
    point = points[0]
    where = f"family {point.name} ({point.value} of {_package(point)})"
    if len(points) > 1:
        both = ", ".join(_package(each) for each in points)
        raise UserError(
            f"family {point.name}: registered by several packages ({both}); uninstall all but one"
        )
    try:
        family = point.load()
        file = Path(inspect.getfile(import_module(point.module))).with_name(EXAMPLES)
    except (Exception, SystemExit) as cause:
        raise UserError(
            f"{where}: the import failed: {describe_exception(cause)}; fix or uninstall the package"
        ) from cause
    if not isinstance(family, Family):
        raise UserError(f"{where}: expected a colbench_tasks.family.Family, found {family!r:.80}")
    if family.name != point.name:
        raise UserError(
            f"{where}: the family is named {family.name!r}; its entry point must have the same name"
        )
    return _with_examples(family, file)


def _with_examples(family: Family, file: Path) -> Family:
    """Return a copy of the family, with the example questions in a file added to its decisions.

    Raises DataError, which names the file, if the file cannot be read or has no questions for a decision.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise DataError(f"{file}: the example questions cannot be read: {cause}") from cause
    found = examples(text, [decision.name for decision in family.decisions], str(file))
    decisions = tuple(replace(each, examples=found[each.name]) for each in family.decisions)
    return replace(family, decisions=decisions)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "colbench"


def _built_in() -> Iterator[EntryPoint]:
    for folder in iter_modules(__path__):
        yield EntryPoint(folder.name, f"{__name__}.{folder.name}:FAMILY", GROUP)


FAMILIES = Families([*_built_in(), *sorted(entry_points(group=GROUP), key=lambda each: each.name)])
"""The families of this package, followed by the families of other packages, both in alphabetical order."""
