"""Inputs and outputs of the code sandbox: jobs and their results."""

from __future__ import annotations

import json
from typing import Literal

from msgspec import Struct

from colbench.command import printable

Namespace = Literal["module", "split"]
"""The way in which a source is executed.

`module`: as a module, in which every top-level name is visible everywhere. `split`: as in the paper's scorer, with
globals separate from locals, so that no function sees a top-level name.
"""
Status = Literal["value", "error", "timeout", "skipped"]
TIMEOUTS_ALLOWED = 3
"""Number of timeouts in one namespace after which a job's remaining calls in this namespace are skipped."""


class Limits(Struct, frozen=True, kw_only=True):
    """Resource limits of one call. If a process runs several calls, they share the time and threads of one call."""

    cpu_seconds: float = 1.0
    """Limit on the CPU seconds of all threads together."""
    wall_seconds: float = 5.0
    threads: int = 128
    """Maximum number of threads started, including threads that have ended."""
    memory_bytes: int = 512 << 20
    """Limit on the address space of the process in bytes."""
    result_bytes: int = (1 << 20) + 4096
    """Maximum size in bytes of a call's output; a process with N calls may write N times as much."""


class Job(Struct, frozen=True, kw_only=True):
    """A source text and the calls to make; for each call, the source runs in a fresh namespace."""

    source: str
    calls: tuple[str, ...]
    namespaces: tuple[Namespace, ...] = ("module",)
    """The namespaces for which each call has a result.

    All calls run in the first namespace, then all calls in the second one. If the second one is certain to give the
    same results, the calls run only in the first.
    """
    rehearsal: bool = False
    """True to use another hash seed, random seed and clock, which reveals values that are not the same in every run."""


class CallResult(Struct, frozen=True, kw_only=True):
    """The outcome of one call."""

    status: Status
    value: bytes = b""
    """The encoded value, for `colbench.sandbox.values`; empty unless `status` is `value`."""
    message: str = ""
    """Type and text of the error, the limit that was exceeded, or how the process ended; else ""."""


class JobResult(Struct, frozen=True, kw_only=True):
    """The outcome of a job."""

    calls: dict[Namespace, tuple[CallResult, ...]]
    """Results by namespace, in the order of the job's calls."""
    invalid: str = ""
    """The reason why the source does not compile; "" if it compiles.

    If the source does not compile, all calls have the status `skipped`.
    """


def parse_line(line: bytes) -> CallResult:
    """Parse one line of a candidate's output. A malformed line becomes an error of the call."""
    kind, _, content = line.partition(b"\t")
    if kind == b"value":
        return CallResult(status="value", value=content)
    if kind in (b"error", b"invalid"):
        return CallResult(status="error", message=_text(content))
    return CallResult(status="error", message="the candidate wrote a malformed result")


def _text(content: bytes) -> str:
    try:
        text = json.loads(content)
    except (ValueError, RecursionError):
        text = None
    if not isinstance(text, str):
        return "an unreadable error"
    return printable(text[:300]).encode("utf-8", "backslashreplace").decode()
