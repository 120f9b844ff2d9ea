"""New user, process, network, IPC and host-name namespaces, and a read-only view of a few folders.

This module does what bubblewrap does, for machines where bubblewrap is not installed. See unshare(2), pivot_root(2),
mount_setattr(2).
"""

from __future__ import annotations

import ctypes
import os
import struct

from .system import mount, prctl, syscall, unshare

_NEW_ROOT = "/tmp"  # noqa: S108  # a mount point that every machine has; hidden by a fresh tmpfs
_NEW_MOUNTS, _NEW_UTS, _NEW_IPC, _NEW_USER = 0x20000, 0x4000000, 0x8000000, 0x10000000
_NEW_PIDS, _NEW_NET, _NEW_CGROUP = 0x20000000, 0x40000000, 0x2000000
_BIND, _RECURSIVE, _PRIVATE, _NOSUID, _NODEV = 4096, 16384, 1 << 18, 2, 4
_DETACH = 2
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD = 442, 0x8000, -100
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_UMOUNT2 = {"x86_64": 166, "aarch64": 39}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION, _LAST_CAPABILITY, _PR_CAPBSET_DROP = 0x20080522, 40, 24
_INNER_ID = 65534


def enter(visible: list[str], hidden: list[str], packages: list[str]) -> None:
    """Move into new namespaces in which only the visible paths exist, read-only.

    The hidden folders, which are inside visible folders, appear empty except for the packages. The function returns
    only in a child, which is process 1 of the namespaces. The calling process waits for the child, and exits with the
    child's exit code. Raises OSError, which names the refused step, if the kernel refuses.
    """
    user, group = os.getuid(), os.getgid()
    unshare(_NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_NET | _NEW_IPC | _NEW_UTS | _NEW_CGROUP)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_INNER_ID} {user} 1")
    _write("/proc/self/gid_map", f"{_INNER_ID} {group} 1")
    _build_root(visible, hidden, packages)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def _build_root(visible: list[str], hidden: list[str], packages: list[str]) -> None:
    machine = os.uname().machine
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in (*visible, *packages)}
    links = {path: os.readlink(path) for path in visible if os.path.islink(path)}
    mount("tmpfs", _NEW_ROOT, "tmpfs", _NOSUID | _NODEV, "mode=0755,size=64k")
    os.mkdir(_NEW_ROOT + _NEW_ROOT)
    for path in visible:
        if path in links:
            os.makedirs(os.path.dirname(_NEW_ROOT + path), exist_ok=True)
            os.symlink(links[path], _NEW_ROOT + path)
        else:
            _bind(sources[path], _NEW_ROOT + path)
    for path in hidden:
        mount("tmpfs", _NEW_ROOT + path, "tmpfs", _NOSUID | _NODEV, "mode=0755,size=4k")
    for path in packages:
        _bind(sources[path], _NEW_ROOT + path)
    for source in sources.values():
        os.close(source)
    os.chdir(_NEW_ROOT)
    syscall("pivot_root", _PIVOT_ROOT[machine], b".", b".")
    syscall("umount2", _UMOUNT2[machine], b".", _DETACH)
    os.chdir("/")
    _make_read_only("/")


def _bind(source: int, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(f"/proc/self/fd/{source}"):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(f"/proc/self/fd/{source}", target, None, _BIND | _RECURSIVE)


def _make_read_only(path: str) -> None:
    """Make a mount and all mounts below it read-only; forbid devices and set-user-ID there (Linux 5.12 and later)."""
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", 1 | 2 | 4, 0, 0, 0))
    size = ctypes.c_size_t(32)
    syscall(
        "mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, path.encode(), _AT_RECURSIVE, attributes, size
    )


def drop_capabilities() -> None:
    """Drop all capabilities in this process's user namespace."""
    for capability in range(_LAST_CAPABILITY + 1):
        prctl(_PR_CAPBSET_DROP, capability)
    header = ctypes.create_string_buffer(struct.pack("=II", _CAPABILITY_VERSION, 0))
    syscall("capset", _CAPSET[os.uname().machine], header, ctypes.create_string_buffer(24))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
