"""The seccomp filter of an agent: a deny-list of harmful system calls that the rest of the isolation would permit.

- Only Unix, IP and netlink sockets are allowed. Other sockets could leave the network namespace: AF_VSOCK, for example,
  connects a virtual machine to its host. io_uring is denied, because it could create such sockets without passing the
  filter.
- Calls for the kernel's key rings are denied, because keys belong to the user, not to a namespace.
- ptrace is denied, because it could stop bubblewrap's own process in the sandbox.
- bpf, perf and userfaultfd are denied, because many attacks on the kernel use them.
- All calls of other architectures (32-bit) are denied, because their numbers differ.
"""

from __future__ import annotations

import errno
import platform
import struct

from .seccomp import machine_code
from .syscalls import numbers

_SOCKET = "socket 41 198"
_ABSENT = "io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427"
_REFUSED = (
    "add_key 248 217, request_key 249 218, keyctl 250 219, bpf 321 280, perf_event_open 298 241, "
    "userfaultfd 323 282, ptrace 101 117"
)
_FAMILIES = (1, 2, 10, 16)
"""The allowed socket families: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""
_X32 = 0x40000000
"""The lowest number of a system call in x32, the other calling convention of x86-64."""
_LOAD, _RETURN, _IF_EQUAL, _IF_NOT_BELOW = 0x20, 0x06, 0x15, 0x35
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16


def agent_filter(machine: str | None = None) -> bytes:
    """Return the filter program for this machine. Raises OSError if the machine's architecture is unknown."""
    machine = machine or platform.machine()
    architecture = machine_code(machine)
    (socket,) = numbers(_SOCKET, machine).values()
    no_call, no_right, no_family = (
        (_RETURN, 0, 0, _FAIL | code) for code in (errno.ENOSYS, errno.EPERM, errno.EAFNOSUPPORT)
    )
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, architecture),
        no_call,
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_NOT_BELOW, 0, 1, _X32),
        no_call,
    ]
    for table, answer in ((_ABSENT, no_call), (_REFUSED, no_right)):
        for number in numbers(table, machine).values():
            program += [(_IF_EQUAL, 0, 1, number), answer]
    allow = (_RETURN, 0, 0, _ALLOW)
    program += [(_IF_EQUAL, 1, 0, socket), allow, (_LOAD, 0, 0, _FIRST_ARGUMENT_AT)]
    for family in _FAMILIES:
        program += [(_IF_EQUAL, 0, 1, family), allow]
    return b"".join(struct.pack("=HBBI", *each) for each in [*program, no_family])
