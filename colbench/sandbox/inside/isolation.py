"""The isolation of the fork server by the mechanisms of its tier. It happens once, before any candidate runs.

`enter` comes first. It moves the process into new namespaces if the tier uses namespaces without bubblewrap (T0b).
`confine` comes after the server's last import, and restricts the process permanently.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from . import landlock, namespaces
from .system import prctl

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def enter(setup: dict[str, Any]) -> None:
    """Have the kernel kill this process when its parent dies. If the tier says `unshare`, also enter new namespaces.

    Raises OSError if the kernel refuses.
    """
    die_with_parent()
    if setup["unshare"]:
        namespaces.enter(setup["visible"], setup["hidden"], setup["packages"])
        die_with_parent()


def confine(setup: dict[str, Any]) -> None:
    """Permanently forbid this process to gain privileges, and forbid unprivileged processes to trace it.

    If `enter` has moved the process into namespaces, also drop all capabilities. In the tier with Landlock, also
    restrict the process to reading the visible paths and packages. Raises OSError if the kernel refuses.
    """
    prctl(_PR_SET_DUMPABLE, 0)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if setup["unshare"]:
        namespaces.drop_capabilities()
    if setup["landlock"]:
        landlock.restrict(setup["visible"], setup["hidden"], setup["packages"])


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies. Exit if the parent dies during this call."""
    parent = os.getppid()
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
