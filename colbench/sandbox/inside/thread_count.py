"""A count of the threads that a child starts; see seccomp_unotify(2).

A seccomp filter makes the kernel suspend every start of a thread until this process has counted and allowed it.
RLIMIT_NPROC would not work: it does not limit root, and it counts the user's other processes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import re
import struct

from .seccomp import Filter, machine_code
from .syscalls import CHECKED, numbers
from .system import syscall

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_SYNCHRONOUS = 1
"""Flag that makes the kernel switch to this process and back without delay."""
_NOTIFICATION_BYTES = 80
_ANSWER = struct.Struct("=QqiI")
_CONTINUE = 1
_FIRST_VERSION = (5, 5)
"""First Linux version that supports `_CONTINUE`."""
_LOAD, _RETURN, _IF_EQUAL, _IF_ANY_BIT = 0x20, 0x06, 0x15, 0x45
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER_AT, _ARCHITECTURE_AT, _FLAGS_AT = 0, 4, 16
_THREAD = 0x10000


class ThreadCount:
    """A count of the threads that this process's children start from now on.

    Raises OSError if the kernel cannot suspend and resume the start of a thread, or if this process already has a
    seccomp listener.
    """

    def __init__(self) -> None:
        if _linux_version() < _FIRST_VERSION:
            raise OSError(
                errno.ENOSYS, "the kernel can suspend the start of a thread, but not resume it"
            )
        machine = platform.machine()
        program = Filter(_thread_filter(machine))
        self.descriptor = syscall(
            "seccomp", _SECCOMP[machine], _SET_MODE_FILTER, _NEW_LISTENER, program.address
        )
        self.started = 0
        with contextlib.suppress(OSError):  # Linux 6.6 and later
            fcntl.ioctl(self.descriptor, _SET_FLAGS, _SYNCHRONOUS)

    def restart(self) -> None:
        """Reset the count of started threads to 0, for the next child."""
        self.started = 0

    def allow_next(self) -> None:
        """Count a thread that waits to be started, and let it start."""
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, notification)
            (number,) = struct.unpack_from("=Q", notification)
            fcntl.ioctl(self.descriptor, _SEND, _ANSWER.pack(number, 0, 0, _CONTINUE))
        except OSError:  # the child died in the meantime
            return
        self.started += 1

    def forget(self) -> None:
        """Close this process's copy of the descriptor.

        Call this in a child, which could otherwise use the descriptor to let its own threads start.
        """
        os.close(self.descriptor)


def _linux_version() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return tuple(map(int, found.groups())) if found else ()


def _thread_filter(machine: str) -> bytes:
    """Build a filter that suspends every start of a thread until this process answers, and allows all other calls."""
    clone = numbers(CHECKED, machine)["clone"]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 0, 5, machine_code(machine)),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FLAGS_AT),
        (_IF_ANY_BIT, 0, 1, _THREAD),
        (_RETURN, 0, 0, _NOTIFY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
