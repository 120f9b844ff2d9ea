"""The process that runs the calls of one candidate (the code of an answer), and writes one line for each call.

The process reads its job from a socket, and writes the lines to the same socket.

The first line is written before any of the candidate's code runs: `invalid<TAB>JSON string` if the source does not
compile, `same` if the calls certainly have equal results in the namespaces `module` and `split`, else `apart`. One line
for each call follows: `value<TAB>encoded value` or `error<TAB>JSON string`. All lines are ASCII.

The process is isolated before it runs the candidate's code, and exits afterwards. Its output after the first line is
not trusted. The process knows no expected values, so the worst it can do is give wrong answers. The process does not
measure its own time: the fork server measures it.
"""

from __future__ import annotations

import builtins
import json
import marshal
import socket
import sys
from collections.abc import Callable
from posix import read, write
from types import CodeType, ModuleType
from typing import Any

from .clock import shift_clock
from .encode import CANDIDATE, UnsupportedValueError, class_name, encode
from .scoping import same_in_both
from .scratch import Scratch
from .seeding import seed_generators

_MESSAGE = 300
_SAMPLE = """
import math
def sample(items, least=2):
    total, names = 0, {}
    for number, item in enumerate(sorted(items)):
        if item > least and number % 2 == 0:
            total += math.sqrt(item) * 1.5
        elif isinstance(item, int):
            names[f"n{number}"] = [item for item in range(number)]
    words = " ".join(str(item) for item in items).split()
    return {"total": round(total, 2), "names": names, "words": words, "first": (items[0], None, True)}
"""
_SAMPLE_CALLS = (
    "sample([1, 2, 3, 4.5])",
    "sample([3, 2, 1], least=1)",
    "sample([])",
    "'text'",
    "2 < 1",
)


def warm_up(scratch: Scratch) -> None:
    """Run sample code in the fork server, so that Python's caches are filled there once and not in every child."""
    calls = [compile(call, "<string>", "eval") for call in _SAMPLE_CALLS]
    job = {
        "source": _SAMPLE,
        "calls": calls,
        "namespace": "module",
        "random_seed": 0,
        "clock_shift": 0,
    }
    for _ in range(20):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(marshal.dumps(job))
            ours.shutdown(socket.SHUT_WR)
            run(theirs.fileno(), scratch)


def run(connection: int, scratch: Scratch) -> None:
    """Run the job that waits on the socket, and write the job's results to the socket."""
    job = marshal.loads(_read_all(connection))  # noqa: S302  # from the harness
    if job["clock_shift"]:
        shift_clock(job["clock_shift"])
    try:
        code = compile(job["source"], "<answer>", "exec", dont_inherit=True)
    except BaseException as error:
        return _write_all(connection, f"invalid\t{_described(error)}\n")
    _write_all(connection, "same\n" if same_in_both(code, job["calls"]) else "apart\n")
    seed, uses_random = job["random_seed"], "random" in job["source"]
    namespace = _NAMESPACES[job["namespace"]]
    for call in job["calls"]:
        if uses_random:
            seed_generators(seed)
        _write_all(connection, _outcome(code, call, namespace))
        scratch.clear()
    return None


def _module() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one dictionary for both globals and locals, as in a module: every top-level name is visible everywhere."""
    names = _globals()
    return names, names


def _split() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return separate globals and locals, so that the code's functions cannot see the code's top-level names.

    This is what `exec` does when it is called inside a function.
    """
    return _globals(), {}


def _globals() -> dict[str, Any]:
    """Return new globals for the candidate's code.

    Also add an empty module with the same `__name__` to `sys.modules`, because dataclasses look up this module.
    """
    sys.modules[CANDIDATE] = ModuleType(CANDIDATE)
    return {"__name__": CANDIDATE, "__builtins__": builtins}


_NAMESPACES: dict[str, Callable[[], tuple[dict[str, Any], dict[str, Any]]]] = {
    "module": _module,
    "split": _split,
}


def _outcome(code: CodeType, call: CodeType | str, namespace: Callable[[], Any]) -> str:
    try:
        names, local_names = namespace()
        exec(code, names, local_names)  # noqa: S102  # what a sandbox is for
        value = eval(call, names, local_names)  # noqa: S307  # the same
        return f"value\t{encode(value)}\n"
    except BaseException as error:
        return f"error\t{_described(error)}\n"


def _described(error: BaseException) -> str:
    """Return an error's type and message as a JSON string. Computing the message may run the candidate's own code."""
    kind = type(error)
    name = "ValueError" if kind is UnsupportedValueError else class_name(kind)
    try:
        message = str.__str__(str(error))
    except BaseException:
        message = ""
    return json.dumps(f"{name}: {message}"[:_MESSAGE] if message else name)


def _read_all(connection: int) -> bytes:
    parts = []
    while part := read(connection, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def _write_all(connection: int, line: str) -> None:
    rest = memoryview(line.encode("ascii"))
    while rest:
        rest = rest[write(connection, rest) :]
