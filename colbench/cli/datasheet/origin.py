"""The origin of a task source, as stated by the source's entry point or by the user."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from colbench.errors import UserError
from colbench.interfaces import Origin
from colbench.plugins import known_origin


def find_origin(source: str, license: str | None, made: str | None) -> Origin:
    """Return the origin of a source; `license` and `made`, if the user set them, replace the known values.

    Raises UserError if the license is unknown.
    """
    origin = known_origin(source)
    if origin is None:
        what = "A file of tasks." if Path(source).expanduser().is_file() else ""
        origin = Origin(what=what, made="", license="", how="")
    if not (license or origin.license):
        raise UserError(f"--license: set the license of {source}, such as CC-BY-4.0")
    return replace(origin, made=made or origin.made, license=license or origin.license)
