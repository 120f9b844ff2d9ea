"""The seccomp filter of a candidate. It allows the listed system calls; all others fail with EPERM or ENOSYS.

The filter program is assembled once, before any candidate. It is a binary search over the numbers of the calls,
followed by a few checks of arguments. No library is used, only the kernel's filter format (see seccomp(2), bpf(4)).
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable

from .syscalls import ABSENT, ALLOWED, CHECKED, numbers
from .system import prctl

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _AND, _RETURN, _JUMP, _IF_EQUAL, _IF_NOT_BELOW = 0x20, 0x54, 0x06, 0x05, 0x15, 0x35
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_FARTHEST = 255
"""Maximum number of instructions that a conditional jump can skip."""
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

Instruction = tuple[int, int, int, int]
"""One instruction: operation code, jump distance if true, jump distance if false, and constant."""

_WRITING = 0o3 | 0o100 | 0o1000
"""The flags O_WRONLY, O_RDWR, O_CREAT and O_TRUNC, which have the same values on x86-64 and aarch64."""
_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000
_FCNTL = (0, 1, 2, 3, 4, 1030)
"""Allowed commands of `fcntl`: they duplicate descriptors or handle flags. F_SETOWN is missing: it can send signals."""
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Allowed requests of `ioctl`.

They read the terminal's size, the terminal's mode or the number of available bytes, or set whether a descriptor blocks
or is closed on exec.
"""


def _allow() -> list[Instruction]:
    return [(_RETURN, 0, 0, _ALLOW)]


def _fail(code: int) -> list[Instruction]:
    return [(_RETURN, 0, 0, _FAIL | code)]


def _require(argument: int, values: Iterable[int], mask: int = 0xFFFFFFFF) -> list[Instruction]:
    """Return a check that fails with EPERM unless the masked lower 32 bits of an argument equal one of `values`."""
    values = list(values)
    tests = [(_IF_EQUAL, len(values) - n, 0, value) for n, value in enumerate(values)]
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)
    return [load, (_AND, 0, 0, mask), *tests, *_fail(errno.EPERM)]


def _require_null(argument: int) -> list[Instruction]:
    high = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument + 4)
    return [*_require(argument, [0]), high, (_IF_EQUAL, 1, 0, 0), *_fail(errno.EPERM)]


_CHECKS: dict[str, list[Instruction]] = {
    "open": _require(1, [0], _WRITING),
    "openat": _require(2, [0], _WRITING),
    "clone": _require(0, [_THREAD], _THREAD | _NEW_NAMESPACES),
    "fcntl": _require(1, _FCNTL),
    "ioctl": _require(1, _IOCTL),
    "socketpair": _require(0, [1]) + _require(1, [1], 0xF),
    "sendto": _require_null(4),
    "memfd_create": _require(1, [0, 1]),
    "prlimit64": _require(0, [0]) + _require_null(2),
}
"""Checks of arguments, by system call.

The checks ensure that files are opened only for reading, `clone` starts only threads, sockets are AF_UNIX streams, no
message is sent to an address, limits are only read, and anonymous files have neither seals nor huge pages.
"""


def machine_code(machine: str) -> int:
    """Return the kernel's code for a machine. Raises OSError for a machine without a system call table."""
    if machine not in _ARCHITECTURE:
        known = " or ".join(_ARCHITECTURE)
        raise OSError(errno.ENOSYS, f"the sandbox needs a processor of type {known}, not {machine}")
    return _ARCHITECTURE[machine]


def candidate_filter(machine: str | None = None, *, files: bool = True) -> bytes:
    """Return the filter program for this machine. If `files` is False, it refuses to open any file, even for reading.

    Raises OSError if the machine's architecture is unknown.
    """
    machine = machine or platform.machine()
    architecture = machine_code(machine)
    checked = numbers(CHECKED, machine)
    actions = {number: _allow() for number in numbers(ALLOWED, machine).values()}
    actions |= {number: _fail(errno.ENOSYS) for number in numbers(ABSENT, machine).values()}
    for name, number in checked.items():
        allowed = files or name not in ("open", "openat")
        actions[number] = [*_CHECKS[name], *_allow()] if allowed else _fail(errno.EPERM)
    header = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, architecture),
        *_fail(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    program = header + _search(_intervals(actions))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _intervals(actions: dict[int, list[Instruction]]) -> list[tuple[int, list[Instruction]]]:
    """Return intervals of call numbers as (first number, action); calls that are not in `actions` fail with EPERM."""
    starts: list[tuple[int, list[Instruction]]] = [(0, _fail(errno.EPERM))]
    for number in range(max(actions) + 2):
        action = actions.get(number, _fail(errno.EPERM))
        if action != starts[-1][1]:
            starts.append((number, action))
    return starts


def _search(intervals: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """Return a program that finds the interval of a system call's number by binary search, and performs its action."""
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    lower, upper = _search(intervals[:middle]), _search(intervals[middle:])
    start = intervals[middle][0]
    if len(lower) <= _FARTHEST:
        return [(_IF_NOT_BELOW, len(lower), 0, start), *lower, *upper]
    return [(_IF_NOT_BELOW, 0, 1, start), (_JUMP, 0, 0, len(lower)), *lower, *upper]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class Filter:
    """A filter that is ready to install: built before the fork, installed after it."""

    def __init__(self, program: bytes) -> None:
        self._program = _Program(len(program) // 8, program)
        self.address = ctypes.addressof(self._program)

    def install(self) -> None:
        """Filter this process permanently. The process must already be under `no_new_privs`."""
        prctl(_PR_SET_SECCOMP, _MODE_FILTER, self.address)
