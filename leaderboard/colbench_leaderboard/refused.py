"""Why something that was sent in is not read any further."""

from __future__ import annotations

from colbench.command import printable
from colbench.errors import DataError

LONGEST = 600
"""Characters of a message, in which a stranger's key may stand."""


class Refused(DataError):  # noqa: N818 - a verdict
    """A rule is broken, and how; `rule`, `file`, `line` and `message` are those of a `receipt.Finding`.

    The file is a path in the bundle, "" for the whole of it; lines count from 1. All of it can be printed.
    """

    def __init__(self, rule: str, message: str, *, file: str = "", line: int | None = None) -> None:
        self.rule, self.line = rule, line
        self.file, self.message = shown(file), cut(" ".join(printable(message).split()), LONGEST)
        place = f"{self.file}, line {line}: " if line else f"{self.file}: " if file else ""
        super().__init__(f"{place}{self.message} ({rule})")


def shown(name: str, width: int = 120) -> str:
    """A name that somebody else chose, for a message: what is not ASCII is escaped, what is long is cut."""
    safe = name.encode("ascii", "backslashreplace").decode()
    safe = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in safe)
    return cut(safe, width)


def cut(text: str, width: int) -> str:
    """The text, or so many of its first characters."""
    return text if len(text) <= width else text[: width - 1] + "…"
