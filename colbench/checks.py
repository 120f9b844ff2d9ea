"""Results of checks of a task (`tasks validate`), a task set (`tasks datasheet`) and this machine (`doctor`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

Bar = Callable[[str, int], Callable[[], None]]
"""A function that starts a progress bar with a label and a number of steps, and returns the function to call after
each step."""


class TaskCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of checking one task."""

    id: str
    domain: str
    default: float | None
    """Score of the reference as an answer in the default mode; None if it cannot be scored."""
    official: float | None
    """Score of the reference as an answer in official mode; None if not scored, or if the domain lacks this mode."""
    blank: float | None
    """Score of an empty answer in the default mode; None if it cannot be scored."""
    flaws: tuple[str, ...] = ()
    constant: bool | None = None
    """True if every hidden test expects the same value, so that a function that ignores its arguments can pass.

    None if the domain has no hidden tests.
    """
    unsteady: bool | None = None
    """True if the reference does not give the same result twice; None if the domain does not check this separately."""
    floors: dict[str, dict[str, float]] = {}
    """Scores of trivial answers; see `Score.floors`."""

    @property
    def sound(self) -> bool:
        """True if the task can be scored: the reference scores 1, is not `unsteady`, and an empty answer scores 0."""
        return self.default == 1 and self.blank == 0 and not self.unsteady


class Examination(Struct, frozen=True, kw_only=True):
    """Findings from running the references of a task set, for the datasheet of the set."""

    notes: tuple[str, ...] = ()
    """Paragraphs in Markdown for the section on statistics."""
    flaws: Mapping[str, int] = {}
    """Number of tasks with each flaw; the flaws are in display order."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """One thing that was checked on this machine."""

    what: str
    works: bool | None
    """True if `what` works. If it does not work: None if only an optional feature needs it, otherwise False."""
    text: str
    fix: str = ""
    """Instruction for installing or repairing it."""
    fetched: bool = False
    """True if `what` is downloaded automatically at first use: a machine with a network needs no preparation."""


def check_package(name: str, purpose: str, fix: str) -> Diagnosis:
    """Return the diagnosis of an optional package: its version or, if it is not installed, the fix."""
    try:
        return Diagnosis(what=name, works=True, text=f"{version(name)} ({purpose})")
    except PackageNotFoundError:
        return Diagnosis(
            what=name, works=None, text=f"not installed; needed for {purpose}", fix=fix
        )


def shorten(text: str, width: int = 60) -> str:
    """Return the text on one line, cut at `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
