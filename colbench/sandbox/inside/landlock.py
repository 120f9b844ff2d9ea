"""Landlock: file access rules for a process without its own namespaces; see landlock(7).

All file access that the kernel's Landlock version can control is refused, except reading the visible paths. Newer
versions of Landlock also refuse TCP, signals to processes outside the sandbox, and connections to abstract sockets of
such processes. Landlock hides neither the existence of a path nor the names of the files in a hidden folder.
"""

from __future__ import annotations

import ctypes
import os
import struct

from .system import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of kinds of file access that each Landlock version supports; later versions support 16."""
_NETWORK, _SCOPES = 0b11, 0b11
"""Further access that Landlock refuses: TCP (from version 4), abstract sockets and signals (both from version 6)."""


def version() -> int:
    """Return the kernel's Landlock version. Raises OSError if the kernel does not support Landlock."""
    return syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION_FLAG)


def restrict(visible: list[str], hidden: list[str], packages: list[str]) -> None:
    """Permanently restrict this process to reading the packages, and the visible paths without the hidden paths.

    Raises OSError if the kernel refuses.
    """
    rules = _create_rules(version())
    for path in visible:
        _allow_reading(rules, os.path.realpath(path), frozenset(hidden))
    for path in packages:
        _allow_reading(rules, path, frozenset())
    syscall("landlock_restrict_self", _RESTRICT_SELF, rules, 0)
    os.close(rules)


def _create_rules(known: int) -> int:
    handled = (1 << _FILE_RIGHTS.get(known, 16)) - 1
    fields = [handled] + [_NETWORK] * (known >= 4) + [_SCOPES] * (known >= 6)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = len(attributes)
    buffer = ctypes.create_string_buffer(attributes, size)
    return syscall("landlock_create_ruleset", _CREATE_RULESET, buffer, size, 0)


def _allow_reading(rules: int, path: str, hidden: frozenset[str]) -> None:
    """Allow reading a path.

    A rule covers everything below its path, so a folder that contains a hidden path is allowed entry by entry.
    """
    if path in hidden:
        return
    if any(other.startswith(path + "/") for other in hidden):
        _add_rule(rules, path, _READ_FOLDER)
        for entry in os.scandir(path):
            if not entry.is_symlink():
                _allow_reading(rules, entry.path, hidden)
        return
    _add_rule(rules, path, _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0))


def _add_rule(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place), 12)
    syscall("landlock_add_rule", _ADD_RULE, rules, _RULE_PATH_BENEATH, rule, 0)
    os.close(place)
