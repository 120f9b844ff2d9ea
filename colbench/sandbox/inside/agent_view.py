"""The files that an agent sees: what is shown, less what is hidden, as options of bubblewrap; the deepest rule counts.

It is settled when an agent starts, so that a run folder that has come into being meanwhile is hidden too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

HOME = "/tmp/home"  # noqa: S108 - in a /tmp of its own
_NO_NAMES = "passwd: files\ngroup: files\nhosts: files\n"


def view(show: Sequence[str], hide: Sequence[str], links: Sequence[tuple[str, str]]) -> list[str]:
    """Options that show these files and folders read-only, each at its own place, and leave these out.

    Of the same place both said, it is hidden. `links`: symbolic links on the way, place and target.
    """
    wanted = {**dict.fromkeys(show, True), **dict.fromkeys(hide, False)}
    apart, found = _take_apart(wanted)
    links = [*links, *found]
    rules: dict[str, bool] = {}
    options: list[str] = []
    masks: list[str] = []
    for path in sorted(wanted, key=lambda path: path.count("/")):
        known = _visible(path, rules) == wanted[path] and path not in apart
        if known or not os.path.lexists(path):
            continue
        rules[path] = wanted[path]
        if wanted[path]:
            options += ["--ro-bind", path, path]
        else:
            options += ["--tmpfs", path]
            masks.append(path)
    for path, target in links:
        if not _visible(path, rules):
            options += ["--symlink", target, path]
    for path in masks:
        options += ["--remount-ro", path]
    return options


def _take_apart(wanted: dict[str, bool]) -> tuple[list[str], list[tuple[str, str]]]:
    """Show the entries of a folder one by one where one of them is a hidden file.

    Returns such folders, and the symbolic links in them.

    A mask on the file itself would be gone as soon as another file takes its name.
    """
    links = []
    folders = {
        os.path.dirname(path) for path in wanted if os.path.isfile(path) and not wanted[path]
    }
    apart = [folder for folder in folders if _visible(folder, wanted)]
    for folder in apart:
        wanted[folder] = False
        for entry in os.scandir(folder):
            if entry.is_symlink():
                links.append((entry.path, os.readlink(entry.path)))
            else:
                wanted.setdefault(entry.path, True)
    return apart, links


def settings(host: str, number: str) -> dict[str, str]:
    """The files of /etc that are made up: one user, no name servers, and where the endpoint's name leads."""
    names = " ".join(dict.fromkeys(["localhost", *([host] if not _is_address(host) else [])]))
    return {
        "/etc/passwd": f"agent:x:{number}:{number}:agent:{HOME}:/bin/sh\n",
        "/etc/group": f"agent:x:{number}:\n",
        "/etc/hosts": f"127.0.0.1 {names}\n",
        "/etc/nsswitch.conf": _NO_NAMES,
    }


def _visible(path: str, rules: dict[str, bool]) -> bool:
    while path not in rules:
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
    return rules[path]


def _is_address(host: str) -> bool:
    return not host or ":" in host or host.replace(".", "").isdigit()
