"""What a domain contributes to the command line, to reports and to the leaderboard's site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from colbench.task import Task


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


class Picture(Struct, frozen=True, kw_only=True):
    """A picture that is shown with an answer."""

    name: str
    """Its caption, such as `Target`."""
    file: str
    """Path in the folder of the site."""
    width: int
    height: int


class AnswerPictures(Protocol):
    """Pictures of answers and of what they are compared with."""

    legend: str
    """How to read them."""

    def of(self, task: Task, answer: str | None) -> Sequence[Picture]:
        """Return the pictures of an answer that can be made here, in the order of showing."""
