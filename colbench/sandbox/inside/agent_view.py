"""The files that an agent sees, as options of bubblewrap.

A rule for a path also covers everything below the path, except paths with a rule of their own. The options are computed
when an agent starts, so that they also hide run folders that were created after the sandbox was set up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

HOME = "/tmp/home"  # noqa: S108 - in a /tmp of its own
TOOLS = ("COLBENCH_VLLM", "COLBENCH_BROWSER")
"""Environment variables, each of which names a program that an agent may start."""
SHOW, WRITE, PRIVATE, HIDE = "show", "write", "private", "hide"
"""Rules for a path: the agent can read it, can read and write it, has its own empty folder there, or cannot see it."""
_OPTIONS = {
    SHOW: lambda path: ["--ro-bind", path, path],
    WRITE: lambda path: ["--bind", path, path],
    PRIVATE: lambda path: ["--tmpfs", path],
    HIDE: lambda path: ["--tmpfs", path],
}
_NO_NAMES = "passwd: files\ngroup: files\nhosts: files\n"


def view(shown: Mapping[str, str], links: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return two lists of bubblewrap options. Options that create more files in the view must come between the lists.

    The first list applies the rules. The second list write-protects the empty folders that replace hidden paths.
    `shown`: the rule of each path. `links`: symbolic links on these paths, each as path and target.
    """
    wanted = dict(shown)
    apart, found = _take_apart(wanted)
    links = [*links, *found]
    rules: dict[str, str] = {}
    options: list[str] = []
    for path in sorted(wanted, key=lambda path: path.count("/")):
        known = _rule(path, rules) == wanted[path] and path not in apart
        if known or not os.path.lexists(path):
            continue
        rules[path] = wanted[path]
        options += _OPTIONS[wanted[path]](path)
    for path, target in links:
        if _rule(path, rules) in (HIDE, PRIVATE):
            options += ["--symlink", target, path]
    masks = [path for path, rule in rules.items() if rule == HIDE]
    return options, [word for path in masks for word in ("--remount-ro", path)]


def _take_apart(wanted: dict[str, str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Change the rules `wanted`: hide each visible folder that contains a hidden file, but show its other entries.

    If only the file were hidden, a new file in its place would be visible. Return these folders, and the symbolic links
    in these folders with their targets.
    """
    links = []
    folders = {
        os.path.dirname(path) for path in wanted if os.path.isfile(path) and wanted[path] == HIDE
    }
    rules = {folder: _rule(folder, wanted) for folder in sorted(folders)}
    apart = [folder for folder, rule in rules.items() if rule in (SHOW, WRITE)]
    for folder in apart:
        wanted[folder] = HIDE
        for entry in os.scandir(folder):
            if entry.is_symlink():
                links.append((entry.path, os.readlink(entry.path)))
            else:
                wanted.setdefault(entry.path, rules[folder])
    return apart, links


def settings(host: str, number: str) -> dict[str, str]:
    """Return the contents of the generated files of /etc, by path.

    The files define one user and one group, both with the ID `number`, and no name servers. `host` is the endpoint's
    host. If `host` is a name, the files give it the address 127.0.0.1.
    """
    names = " ".join(dict.fromkeys(["localhost", *([host] if not _is_address(host) else [])]))
    return {
        "/etc/passwd": f"agent:x:{number}:{number}:agent:{HOME}:/bin/sh\n",
        "/etc/group": f"agent:x:{number}:\n",
        "/etc/hosts": f"127.0.0.1 {names}\n",
        "/etc/nsswitch.conf": _NO_NAMES,
    }


def _rule(path: str, rules: Mapping[str, str]) -> str:
    """Return the rule of a path: its own rule, else the rule of the nearest parent folder that has one, else HIDE."""
    while path not in rules:
        parent = os.path.dirname(path)
        if parent == path:
            return HIDE
        path = parent
    return rules[path]


def _is_address(host: str) -> bool:
    return not host or ":" in host or host.replace(".", "").isdigit()
