"""What a domain contributes to the command line and to reports."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Draft(Struct, frozen=True, kw_only=True):
    """The text from which a person who plays the agent starts to write an answer."""

    text: str
    suffix: str
    """Of its file's name, such as `.py`."""
    required: bool
    """True if the answer must differ from it; else an empty answer means what was shown last."""


class ReportPages(Struct, frozen=True, kw_only=True):
    """Pages of a run's report that only one domain has; they are written next to `report.html`."""

    name: str
    """Name of the link to the first page, in lower case, such as `gallery`."""
    description: str
    """What the pages show."""
    files: Mapping[str, str]
    """HTML by file name, the first page first."""
    addresses: Mapping[str, str]
    """Address of the part about a task, by the task's id."""
