"""Where a source is from: its own entry point says, or for a file the user."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from msgspec.structs import replace

from colbench.errors import UserError
from colbench.interfaces import Origin


def find_origin(source: str, licence: str | None, made: str | None) -> Origin:
    """The origin of a source such as `bundled:backend`; what the user says replaces what the source does.

    Raises UserError when nobody says what the licence is.
    """
    name, _, argument = source.partition(":")
    known = entry_points(group="colbench.origins", name=name)
    if known and not Path(source).expanduser().is_file():
        (point,) = known
        origin: Origin = point.load()(argument)
    else:
        origin = Origin(what="A file of tasks.", made="", licence="", how="")
    if not (licence or origin.licence):
        raise UserError(f"--licence: say what the licence of {source} is, for instance CC-BY-4.0")
    return replace(origin, made=made or origin.made, licence=licence or origin.licence)
