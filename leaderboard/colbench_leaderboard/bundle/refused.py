"""The error for a bundle or a branch that breaks a rule, and safe printing of strangers' texts."""

from __future__ import annotations

from colbench.command import printable
from colbench.errors import DataError

LONGEST = 600
"""Maximum number of characters of a message, which may quote untrusted keys."""


class Refused(DataError):  # noqa: N818 - a verdict
    """The error for a bundle or a branch that breaks a rule.

    Other docstrings list the names of these rules after "Raises Refused:". `file` is the path of the file that breaks
    the rule, such as a path in the bundle; "" for the whole bundle or branch. `line` counts from 1; None for the whole
    file. All fields are safe to print.
    """

    def __init__(self, rule: str, message: str, *, file: str = "", line: int | None = None) -> None:
        self.rule, self.line = rule, line
        self.file, self.message = shown(file), cut(" ".join(printable(message).split()), LONGEST)
        place = f"{self.file}, line {line}: " if line else f"{self.file}: " if file else ""
        super().__init__(f"{place}{self.message} ({rule})")


def shown(name: str, width: int = 120) -> str:
    """Return an untrusted name in a form that is safe for a message: escaped to ASCII and cut to `width` characters."""
    safe = name.encode("ascii", "backslashreplace").decode()
    safe = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in safe)
    return cut(safe, width)


def cut(text: str, width: int) -> str:
    """Return the text, cut to `width` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"
