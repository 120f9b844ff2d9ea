"""The isolation tiers: their mechanisms, and how a fork server of each tier is started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from colbench.sandbox.inside.scratch import ROOT
from colbench.sandbox.jobs import Limits
from colbench.sandbox.packages import Packages
from colbench.sandbox.paths import hidden_paths, interpreter, visible_paths

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LD_BIND_NOW": "1",  # so that a library's functions are resolved once and not in each child
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}
"""Environment variables with which a fork server starts, in addition to its hash seed (PYTHONHASHSEED)."""
PRELOADED = (
    "math", "random", "re", "json", "string", "time", "datetime", "calendar", "collections", "itertools",
    "functools", "operator", "heapq", "bisect", "statistics", "decimal", "fractions", "typing", "copy",
    "dataclasses", "enum", "abc", "_strptime",
)  # fmt: skip
"""Modules that candidates commonly import; they are loaded once per server, not once per candidate."""
_INSIDE = Path(__file__).parent / "inside"
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.server import main; "
    "del sys.path[0]; main(int(sys.argv[2]))"
)


class Tier(Struct, frozen=True, kw_only=True):
    """One way to isolate a fork server."""

    name: str
    words: str
    """The mechanisms, such as `bubblewrap+seccomp`, as recorded in every score."""
    remedy: str
    """Instructions for a machine on which the tier does not work yet."""
    bubblewrap: bool = False
    unshare: bool = False
    """True if the fork server itself enters namespaces, without bubblewrap."""
    landlock: bool = False
    seccomp: bool = True
    files: bool = True
    """False if the tier cannot restrict which files candidates open; candidates may then open no file."""
    safe: bool = True
    """False if the tier only limits resources."""
    packages: Packages = Packages()
    """Packages that are visible in addition to the standard library."""


_USER_NAMESPACES = (
    "sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0"
)
TIERS = (
    Tier(
        name="T0",
        words="bubblewrap+seccomp",
        bubblewrap=True,
        remedy="apt-get install bubblewrap (or dnf, pacman), and allow user namespaces: "
        f"{_USER_NAMESPACES}",
    ),
    Tier(
        name="T0b",
        words="namespaces+seccomp",
        unshare=True,
        remedy=f"Linux 5.12 or later with user namespaces: {_USER_NAMESPACES}",
    ),
    Tier(
        name="T1",
        words="landlock+seccomp",
        landlock=True,
        remedy="Linux 5.13 or later with landlock among the security modules (boot with lsm=landlock,...)",
    ),
    Tier(
        name="T1b",
        words="seccomp, no files",
        files=False,
        remedy="Linux 5.3 or later on x86-64 or aarch64 with seccomp filters, and a Python with ctypes",
    ),
    Tier(
        name="T2",
        words="resource limits only",
        seccomp=False,
        safe=False,
        remedy="Linux 5.3 or later; on macOS, use a Linux container",
    ),
)
"""The tiers, from the strongest to the weakest."""


def command(tier: Tier, control: int) -> list[str]:
    """Return the command line of a fork server; `control` is the descriptor of its control socket.

    Raises FileNotFoundError if the tier needs bubblewrap, but bubblewrap is not installed.
    """
    python = [interpreter(), "-s", "-P", "-S", "-W", "ignore", "-X", "utf8", "-c", _BOOT]
    if not tier.bubblewrap:
        return [*python, str(_INSIDE.parent), str(control)]
    return [*_bubblewrap(tier.packages), *python, "/colbench", str(control)]


def setup(tier: Tier, limits: Limits) -> dict[str, Any]:
    """Return the first message to the fork server: its limits, modules, paths and means of isolation."""
    return {
        **msgspec.to_builtins(limits),
        "preload": (*PRELOADED, *tier.packages.preloaded),
        "packages": tier.packages.paths,
        "package_names": tier.packages.names,
        "package_folders": tier.packages.folders,
        "visible": visible_paths(),
        "hidden": hidden_paths(),
        "namespaces": tier.bubblewrap or tier.unshare,
        "unshare": tier.unshare,
        "landlock": tier.landlock,
        "seccomp": tier.seccomp,
        "files": tier.files,
    }


def _bubblewrap(packages: Packages) -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bubblewrap is not installed")
    arguments = [
        program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox",
        "--die-with-parent", "--new-session", "--cap-drop", "ALL",
    ]  # fmt: skip
    for path in visible_paths():
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind", path, path]
    for path in hidden_paths():
        arguments += ["--tmpfs", path]
    for path in packages.paths:
        arguments += ["--ro-bind", path, path]
    return [
        *arguments, "--ro-bind", str(_INSIDE), "/colbench/inside", "--dir", ROOT, "--remount-ro", "/",
        "--chdir", ROOT,
    ]  # fmt: skip
