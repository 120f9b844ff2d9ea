"""The last words of a program that crashed: the error of its last Python traceback, else its last lines."""

from __future__ import annotations

import re
from collections import deque

from colbench.errors import place_of

LINES = 3
"""Number of last lines to quote from a program that shows no traceback."""
SURVIVED = "| "
"""Prefix of the lines of a traceback if the program survived the error."""
TRACEBACK = "Traceback (most recent call last):"
FRAME = re.compile(r'\s+File "(.+)", line (\d+)')


class LastWords:
    """The end of a program's standard error, which is read line by line.

    `str()` returns the error of the last traceback or, without a traceback, the last lines.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LINES)
        self._error = ""
        self._frames: list[tuple[str, int]] = []
        self._inside = False

    def hear(self, line: str) -> None:
        """Read the next line. Ignore an empty line, and a line about an error that the program survived."""
        if not line or line.startswith(SURVIVED):
            return
        self._lines.append(line)
        if line.endswith(TRACEBACK):
            self._inside, self._frames = True, []
        elif self._inside:
            self._read_traceback(line)

    def _read_traceback(self, line: str) -> None:
        if frame := FRAME.match(line):
            self._frames.append((frame[1], int(frame[2])))
        elif not line[0].isspace():
            place = place_of(self._frames)
            self._error = f"{line} ({place})" if place else line
            self._inside = False

    def __str__(self) -> str:
        return self._error or " | ".join(self._lines)
