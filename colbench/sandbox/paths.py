"""Files of the host that a candidate (the code of an answer) can read: Python, shared libraries and time zones.

All other folders are hidden, such as /bin, /etc, home folders and /proc. Inside the readable folders, installed
packages are hidden, because some of them contain tasks with references, as this project's own packages do.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_PACKAGE_FOLDERS = ("python*/site-packages", "python*/dist-packages")


def interpreter() -> str:
    """Return the real path of the Python interpreter; a symbolic link, as in a virtual environment, is resolved."""
    return os.path.realpath(sys.executable)


def visible_paths() -> list[str]:
    """Return the paths of the host's files and folders that a candidate can read; no path is inside another.

    Exceptions: the subfolders that `hidden_paths` returns are not readable, but the packages in `Tier.packages` are.
    """
    prefixes = {sys.base_prefix, sys.base_exec_prefix}
    own = [f"{prefix}/{folder}" for prefix in sorted(prefixes) for folder in ("lib", "lib64")]
    visible: list[str] = []
    for path in (*_SYSTEM, *own, interpreter()):
        covered = any(path == other or path.startswith(other + "/") for other in visible)
        if os.path.lexists(path) and not covered:
            visible.append(path)
    return visible


def hidden_paths() -> list[str]:
    """Return the folders inside the visible folders that candidates must not see: the folders of installed packages."""
    found = {
        str(folder.resolve())
        for path in visible_paths()
        for pattern in _PACKAGE_FOLDERS
        for folder in Path(path).glob(pattern)
        if folder.is_dir()
    }
    return sorted(found)
