"""What every command line of the project does around its command: exit codes, errors in a line, the log.

Exit code 0: done; 1: not for the user to mend, or a run has unscored cells; 2: a mistake in what was asked.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from colbench.errors import InfrastructureError, UserError

UNSCORED = 1
USER_MISTAKE = 2
INTERRUPTED = 130
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters with which a text could take over a terminal: controls but tab and newline, and text direction."""


def printable(text: str) -> str:
    """A text that somebody else wrote, safe to print."""
    return CONTROLS.sub("\ufffd", text)


def run(name: str, command: Callable[[], int]) -> int:
    """Run a command of the program `name` and return its exit code; no error that is expected has a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with _log_on_stderr():
            return command()
    except UserError as error:
        return _fail(name, str(error), USER_MISTAKE)
    except InfrastructureError as error:
        return _fail(name, f"{error.boundary}: {error}", UNSCORED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _fail(name, "interrupted; the same command goes on from here", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        return _fail(name, f"{error.strerror or error}{place}", USER_MISTAKE)


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show what long starts have to say, such as a model server that is loading."""
    log, handler = logging.getLogger("colbench"), logging.StreamHandler()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _fail(name: str, message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"{name}: {printable(message)}", file=sys.stderr)
    return code
