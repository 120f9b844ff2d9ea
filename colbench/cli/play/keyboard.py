"""Lines that a person types, from a terminal or a pipe."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import termios
import threading
from contextlib import suppress
from typing import Any

STDIN, STDOUT = 0, 1
NO_BRACKETED_PASTE = b"\x1b[?2004l\n"


class Keyboard:
    """A line reader for standard input that does not block the event loop; leaving the context restores the terminal.

    In a terminal, lines can be edited, and pasted text can arrive as one string of several lines.
    """

    def __init__(self) -> None:
        self.typed = os.isatty(STDIN) and os.isatty(STDOUT)
        self._settings: list[Any] = []
        self._reading = False
        self._rest = b""

    def __enter__(self) -> Keyboard:
        if self.typed:
            self._settings = termios.tcgetattr(STDIN)
            with suppress(ImportError):
                import readline  # noqa: F401 - importing it makes `input` edit lines
            if isinstance(sys.stdin, io.TextIOWrapper):
                sys.stdin.reconfigure(errors="replace")
        return self

    def __exit__(self, *error: object) -> None:
        if not self.typed:
            return
        with suppress(termios.error, OSError):  # the terminal may be gone
            termios.tcsetattr(STDIN, termios.TCSADRAIN, self._settings)
            if self._reading:
                os.write(STDOUT, NO_BRACKETED_PASTE)

    async def line(self, prompt: str) -> str | None:
        """Return the next line without its newline; None at the end of the input (Ctrl-D)."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str | None] = loop.create_future()

        def settle(read: str | None) -> None:
            if not line.done():
                line.set_result(read)

        def wait() -> None:
            read = self._typed(prompt) if self.typed else self._piped()
            with suppress(RuntimeError):  # reading was interrupted and the loop is closed
                loop.call_soon_threadsafe(settle, read)

        self._reading = True
        threading.Thread(
            target=wait, daemon=True
        ).start()  # not in an executor: at exit, Python would wait for the executor's threads
        read = await line
        self._reading = False
        return read

    def _typed(self, prompt: str) -> str | None:
        try:
            return input(prompt)
        except (EOFError, OSError):
            print()
            return None

    def _piped(self) -> str | None:
        """Return the next line of the pipe; None at its end.

        This reads the file descriptor, because a thread that waits in `sys.stdin` would keep the process from ending.
        """
        while b"\n" not in self._rest:
            with suppress(OSError):
                if more := os.read(STDIN, 1 << 16):
                    self._rest += more
                    continue
            last, self._rest = self._rest, b""
            return last.decode("utf-8", "replace") if last else None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").removesuffix("\r")
