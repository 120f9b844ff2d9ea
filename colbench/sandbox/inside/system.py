"""A few system calls for which Python has no function."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


def prctl(option: int, *arguments: int) -> int:
    """Make the system call prctl. Raises OSError if it fails."""
    return _checked(_libc.prctl(option, *(*arguments, 0, 0, 0, 0)[:4]), f"prctl {option}")


def syscall(name: str, number: int, *arguments: object) -> int:
    """Make a system call by number; integers are passed as longs. Raises OSError, which names the call, if it fails."""
    wide = (ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    return _checked(_libc.syscall(ctypes.c_long(number), *wide), name)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Make the system call mount. Raises OSError if it fails."""
    texts = [text and os.fsencode(text) for text in (source, target, kind, data)]
    result = _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    _checked(result, f"mount {target}")


def unshare(flags: int) -> None:
    """Make the system call unshare. Raises OSError if it fails."""
    _checked(_libc.unshare(flags), "unshare")


def setns(namespace: int, kind: int) -> None:
    """Make the system call setns. Raises OSError if it fails."""
    _checked(_libc.setns(namespace, kind), "setns")


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
