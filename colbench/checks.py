"""The check of one task, as `colbench validate` makes it: its reference must score 1 and an empty answer 0."""

from __future__ import annotations

from msgspec import Struct


class TaskCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of checking one task."""

    id: str
    domain: str
    default: float | None
    """Score of the reference as an answer, by mode; None if it cannot be scored."""
    official: float | None
    blank: float | None
    """Score of an empty answer."""
    flaws: tuple[str, ...] = ()
    constant: bool = False
    """True if every hidden test expects the same value, so that an answer need not look at its arguments."""
    unsteady: bool = False
    """True if the reference does not give the same result twice."""
    floors: dict[str, dict[str, float]] = {}
    """Scores of answers that nobody designed; see `Score.floors`."""

    @property
    def sound(self) -> bool:
        """True if the task can be scored: the reference gets 1, an empty answer 0."""
        return self.default == 1 and self.blank == 0 and not self.unsteady


def shorten(text: str, width: int = 60) -> str:
    """Return the text on one line, cut at `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
