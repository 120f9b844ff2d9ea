"""The contributions of a domain to the command line, reports, the viewer and the leaderboard's site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from colbench.rollout import Rollout
from colbench.task import Task


class Draft(Struct, frozen=True, kw_only=True):
    """The initial text of an answer, which a person who plays the agent then edits."""

    text: str
    suffix: str
    """Suffix of the draft's file name, such as `.py`."""
    required: bool
    """True if the answer must differ from the draft. If False, an empty answer submits what the agent showed last."""


class ReportPages(Struct, frozen=True, kw_only=True):
    """Pages that a domain adds to a run's report; the pages are written next to `report.html`."""

    name: str
    """Name of the link to the first page, in lower case, such as `gallery`."""
    description: str
    """The caption on the pages."""
    files: Mapping[str, str]
    """HTML by file name, the first page first. Each page is read only once, so it may be built on access."""
    addresses: Mapping[str, str]
    """Relative URL of the part about each task, by the task's id."""


class Picture(Struct, frozen=True, kw_only=True):
    """A picture that is shown with an answer."""

    name: str
    """The picture's caption, such as `Target`."""
    file: str = ""
    """Path in the folder of the run or the site; empty if the picture is missing."""
    width: int = 0
    height: int = 0
    note: str = ""
    """The reason why the picture is missing."""


class AnswerPictures(Protocol):
    """A source of pictures of answers and of their targets."""

    legend: str
    """Explanation of the pictures."""

    def of(self, task: Task, answer: str | None) -> Sequence[Picture]:
        """Return the pictures of an answer, as far as this machine can make them, in display order."""


class Comparison(Struct, frozen=True, kw_only=True):
    """Pictures of the hidden target, of the agent's answer, and of their difference."""

    target: Picture
    shown: Picture
    difference: Picture
    note: str = ""
    """Remark about the pictures, for example that they were made with a browser other than the run's."""


class DialoguePictures(Protocol):
    """A source of pictures of the agent's answer at each turn of a dialogue, which are rendered on request."""

    legend: str
    """Explanation of the pictures of differences."""

    def turns(self, rollout: Rollout) -> Sequence[int]:
        """Return the turns with an answer to show, counted from 1."""

    async def of(self, task: Task, rollout: Rollout, turn: int) -> Comparison:
        """Return the pictures of a turn, which must be one of `turns`.

        Raises UserError, which says how to get the pictures, if they are missing.
        """

    async def close(self) -> None:
        """Stop the processes that render pictures."""
