"""A program that isolates itself and then becomes the browser. The browser dies when the process that started it dies.

In the cage `namespaces`, the browser is process 1 of a new process namespace, so that its children do not outlive it.
The browser's network namespace has no network. The browser is an ordinary user of a user namespace, so that its own
sandbox works even if root starts the browser. See unshare(2), pid_namespaces(7), prctl(2).
"""

from __future__ import annotations

import os
import resource
import select
import sys

from .system import prctl, unshare

_NEW_USER, _NEW_PIDS, _NEW_NET = 0x10000000, 0x20000000, 0x40000000
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_INNER_ID = 65534


def main(cage: str, pid_file: str, program: str, *arguments: str) -> None:
    """Write this process's ID to `pid_file`, isolate this process, and become `program`, which is the browser.

    If `cage` is "namespaces", a child becomes the browser, and this process exits when the child exits.
    """
    parent = os.getppid()
    _die_with_parent()
    _write(pid_file, str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cage == "namespaces":
        _enter_namespaces(parent)
    elif os.getppid() != parent:
        sys.exit("the parent has died")
    os.execv(program, [program, *arguments])  # noqa: S606


def _enter_namespaces(parent: int) -> None:
    """Fork a child as process 1 of new namespaces, and return only in the child.

    The calling process waits for the child, and exits with the child's code. In its namespace, the child cannot look up
    the ID of its parent. Therefore a pipe, whose other end only the parent holds, tells the child if the parent died
    before the child set up its death signal.
    """
    user, group = os.getuid(), os.getgid()
    unshare(_NEW_USER | _NEW_PIDS | _NEW_NET)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_INNER_ID} {user} 1")
    _write("/proc/self/gid_map", f"{_INNER_ID} {group} 1")
    _die_with_parent()  # new credentials may have cleared the death signal
    if os.getppid() != parent:
        sys.exit("the parent has died")
    ending, held_open = os.pipe()
    child = os.fork()
    if child:
        os.closerange(3, held_open)
        os.closerange(held_open + 1, 256)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    _die_with_parent()
    os.close(held_open)
    if select.select([ending], [], [], 0)[0]:
        sys.exit("the parent has died")
    os.close(ending)


def _die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies."""
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
