"""The errors of ColBench: one class for each boundary at which something outside can fail.

ColBenchError
 ├── UserError        the user's input is wrong: exit code 2, never a traceback
 │    ├── DataError   a task file, run folder or record is malformed
 │    └── InUseError  another process uses the folder
 └── BoundaryError    something failed at a boundary; `kind` says how
      ├── AgentError           the agent under test failed: its dialogue scores 0
      └── InfrastructureError  not the agent's fault: the score stays None, the cell is retried
           ├── EndpointError   a model server gave no usable answer
           ├── SimulatorError  the simulated human failed
           ├── SandboxError    a sandbox failed
           ├── RenderError     the browser failed
           ├── ScorerError     the scorer failed
           └── WorkerError     a process of a run was lost
"""

from __future__ import annotations

import signal
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Boundary = Literal["agent", "endpoint", "simulator", "sandbox", "render", "scorer", "worker"]
Kind = Literal[
    "",
    "timeout",
    "connection",
    "overload",
    "server_error",
    "malformed",
    "rejected",
    "context",
    "empty",
    "exception",
    "reply",
]
"""The kind of a failure at a boundary.

timeout       no response in time
connection    the server could not be reached, or the connection broke
overload      the server was overloaded for longer than `endpoint_patience`
server_error  HTTP 5xx, or a refusal known to be temporary
malformed     the response could not be read
rejected      the server refused this request (HTTP 4xx)
context       the dialogue is longer than the model's context
empty         every reply of the agent was empty (cut before its first word, filtered, or just empty), or the model that
              plays the human gave an empty reply or refused to reply
exception     an exception in the agent's, the human's or the scorer's own code; a crash of a program or a process; or
              another failure, such as a failure of the sandbox or the browser
reply         the object that the agent or the human returned is not a valid message
(empty text)  unknown: files of earlier versions do not record it
"""


class ColBenchError(Exception):
    """Base of every error that ColBench raises on purpose."""


class UserError(ColBenchError):
    """An error in the user's input. The message names the file, line or flag, and the fix."""


class DataError(UserError):
    """An error in a file that ColBench was given to read: it is malformed, missing or unreadable."""


class InUseError(UserError):
    """The error for a folder that another process uses."""


class BoundaryError(ColBenchError):
    """Base class of the errors at a boundary. `kind` is the type of failure."""

    boundary: Boundary

    def __init__(self, message: str, *, kind: Kind = "exception") -> None:
        super().__init__(message)
        self.kind: Kind = kind


class AgentError(BoundaryError):
    """A failure of the agent under test. Its dialogue scores 0, and is repeated only if `retry_failed` selects it."""

    boundary: Boundary = "agent"


class InfrastructureError(BoundaryError):
    """An error outside the agent under test. The dialogue stays unscored and is retried on resume."""

    boundary: Boundary = "scorer"


class TooLongError(Exception):
    """An error raised if a dialogue exceeds the model's context; `boundary` converts this error to a BoundaryError."""


class EndpointError(InfrastructureError):
    """An error of a model server, or of another needed server, that cannot be reached or gives no usable answer."""

    boundary: Boundary = "endpoint"


class SimulatorError(InfrastructureError):
    """A failure of the simulated human. The error never appears in the dialogue."""

    boundary: Boundary = "simulator"


class SandboxError(InfrastructureError):
    """A failure of the code sandbox itself (not of the answer's code inside it), or of the isolation of an agent."""

    boundary: Boundary = "sandbox"


class RenderError(InfrastructureError):
    """A failure of the browser itself (not of the page inside it)."""

    boundary: Boundary = "render"


class ScorerError(InfrastructureError):
    """A failure of the scorer."""

    boundary: Boundary = "scorer"


class WorkerError(InfrastructureError):
    """The loss of a process of a run, for example because the system killed it."""

    boundary: Boundary = "worker"


@contextmanager
def boundary(error: type[BoundaryError]) -> Iterator[None]:
    """Convert any exception raised inside the context to `error`, except ColBench's own errors, which pass unchanged.

    The message contains the type, text and location of the original exception, which is kept as the cause.
    """
    try:
        yield
    except ColBenchError:
        raise
    except TimeoutError as cause:
        raise error(describe_exception(cause), kind="timeout") from cause
    except TooLongError as cause:
        raise error(f"longer than the model's context: {cause}", kind="context") from cause
    except Exception as cause:
        raise error(describe_exception(cause)) from cause


def describe_exception(error: BaseException) -> str:
    """Return one line with an error's type, its text and, if Python code raised it, the file name and line number.

    For an error inside a library, the file and line show where the library was called, for example in the agent's
    code. The text of a SyntaxError already contains its file and line.
    """
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {text}"
    place = place_of(
        [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    )
    return f"{type(error).__name__}{': ' if text else ''}{text}{f' ({place})' if place else ''}"


def memory_hint(code: int) -> str:
    """Return the end of a message that explains why SIGKILL may have ended a process; "" for other exit codes."""
    return ", which happens when the system runs out of memory" if -code == signal.SIGKILL else ""


def place_of(frames: Sequence[tuple[str, int]]) -> str:
    """Return `file.py:12` for the innermost frame outside libraries, or else for the innermost frame.

    `frames` holds the file and line of each frame, the outermost first. Returns an empty string if there are no frames.
    """
    own = [frame for frame in frames if not is_installed(frame[0])] or frames
    return f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else ""


def is_installed(file: str) -> bool:
    """Return True if a file belongs to an installed package or the standard library, or is code such as `<string>`."""
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(("<", sysconfig.get_path("stdlib")))
