"""The files that an isolated agent can see.

In an `AgentSandbox`, these are the system, the installations of the agent's programs, and the files named in the
agent's command (`find_view`). In an `OpenSandbox`, these are all files that are not hidden, except in folders such as
/tmp, of which each agent has its own version (`find_open_view`).
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.sandbox.agent.hidden import Hidden
from colbench.sandbox.inside.agent_view import TOOLS
from colbench.version import PACKAGES

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/fonts", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/locale.alias", "/etc/mime.types", "/etc/pki/ca-trust", "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/services", "/etc/ssl/cert.pem",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
)  # fmt: skip
"""Programs, libraries and settings that contain no secrets. Files such as /etc/hosts are generated instead.

See `agent_view.settings`.
"""
_COMMON = (
    "/", "/boot", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/var", "/var/tmp",  # noqa: S108
)  # fmt: skip
"""Shared folders. If a file of the agent is directly in one of them or in the home folder, only this file is shown."""
_NEVER = ("/dev", "/proc", "/run", "/sys")
PRIVATE_PLACES = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - each agent has its own
_NOT_OPEN = ("/dev", "/proc", "/run", "/tmp")  # noqa: S108 - the agent has its own
"""Top-level folders that are not shown, because an agent gets its own version of each."""
_NAME_SERVERS = "/etc/resolv.conf"
_SCRIPTS = 4
"""Maximum length of a chain of programs, in which the first line of each script names the next program."""


class View(Struct, frozen=True):
    """The files and folders to show to an agent. When the agent starts, hidden files in these folders are left out."""

    system: tuple[str, ...]
    own: tuple[str, ...]
    """Files and folders of this agent, with symbolic links resolved."""
    links: tuple[tuple[str, str], ...]
    """Symbolic links on the paths to all files of the view, each as path and target."""


def find_view(command: Sequence[str], named: Sequence[str], hidden: Hidden) -> View:
    """Return the files to show to an agent that `command` starts; `named` contains further possible file names.

    These are system files, the programs among the words of `command` with their installations, and all files named by
    the other words or by `named`. A named file is visible together with its folder; but if the folder is shared (such
    as /tmp or the home folder) or is a checkout with tasks, only the file is visible. Nothing inside hidden paths is
    visible.
    """
    programs = [program for word in command for program in _programs(word)]
    words = [*programs, *_places([*command[1:], *named])]
    wanted = [place for word in words for place in _shown_with(word, hidden)]
    wanted += [place for program in programs for place in _installation(program)]
    own = dict.fromkeys(str(place.resolve()) for place in wanted)
    system = dict.fromkeys(os.path.realpath(path) for path in SYSTEM if os.path.exists(path))
    shown = [Path(path) for path in system]
    new = [place for place in own if not any(Path(place).is_relative_to(path) for path in shown)]
    kept = [place for place in new if not hidden.holds(Path(place))]
    paths = [*SYSTEM, *map(str, wanted), *map(str, words)]
    links = dict(link for path in paths for link in _links(path))
    return View(system=tuple(system), own=tuple(kept), links=tuple(links.items()))


def find_open_view(named: Sequence[str], hidden: Hidden) -> View:
    """Return the view of an agent that may read everything except hidden files.

    The whole file tree is visible, except folders of which the agent gets its own version, such as /tmp. Some files are
    visible even there or inside hidden checkouts: those in `named`, the Python of this process, the ColBench packages
    without tasks, the programs in `TOOLS`, and the list of name servers. The current folder is also visible, except if
    it is a shared folder or in a hidden checkout.
    """
    places = [place for word in _places(named) for place in _with_neighbors(word, hidden)]
    here = Path.cwd()
    if not hidden.in_checkout(here):
        places += _shown_with(here, hidden)
    places += [*runtime(hidden), *_tools(), Path(_NAME_SERVERS)]
    own = dict.fromkeys(str(place.resolve()) for place in places)
    tops = [f"/{name}" for name in sorted(os.listdir("/")) if f"/{name}" not in _NOT_OPEN]
    links = dict(link for path in [*tops, *map(str, places)] for link in _links(path))
    kept = [place for place in own if not hidden.holds(Path(place))]
    system = [top for top in tops if not os.path.islink(top)]
    return View(system=tuple(system), own=tuple(kept), links=tuple(links.items()))


def runtime(hidden: Hidden) -> list[Path]:
    """Return the Python of this process, its module search path, and the ColBench packages that contain no tasks.

    Folders of the search path inside hidden checkouts are left out.
    """
    entries = [Path(entry) for entry in sys.path if entry and Path(entry).exists()]
    found = [Path(sys.prefix), Path(sys.base_prefix)]
    found += [entry for entry in entries if not hidden.in_checkout(entry.resolve())]
    folders = (entry / name for entry in entries for name in sorted(PACKAGES - hidden.packages))
    return found + [folder for folder in folders if (folder / "__init__.py").is_file()]


def _tools() -> Iterator[Path]:
    """Yield the programs that the environment variables in `TOOLS` name, with their interpreters and installations."""
    for program in (each for name in TOOLS for each in _programs(os.environ.get(name, ""))):
        yield program
        yield from _installation(program)


def _with_neighbors(path: Path, hidden: Hidden) -> Iterator[Path]:
    """Yield the paths to show for a file or folder; for a module at the top of a checkout, also its sibling modules."""
    yield from _shown_with(path, hidden)
    folder = path.resolve().parent
    if path.suffix == ".py" and hidden.is_checkout(folder):
        yield from folder.glob("*.py")


def _programs(word: str) -> Iterator[Path]:
    """Yield the program that a word names and, for a script, its interpreter, which may also be a script."""
    for _ in range(_SCRIPTS):
        found = shutil.which(word)
        if not found:
            return
        yield Path(found).absolute()
        try:
            with open(found, "rb") as file:
                first = file.readline(256)
        except OSError:  # some programs, such as sudo, may be run but not read
            return
        words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-")]
        word = words[0] if words else ""


def _places(words: Sequence[str]) -> Iterator[Path]:
    """Yield the existing paths in words: a whole word, the part after `=`, or an item of a list separated by `:`."""
    for word in words:
        for part in (word, *word.partition("=")[2].split(":"), *word.split(":")):
            path = Path(part).absolute()
            if part and os.path.exists(path):
                yield path


def _shown_with(path: Path, hidden: Hidden) -> Iterator[Path]:
    """Yield the paths to show for a file or folder.

    A file is shown with its folder; but if this folder is shared by all or is a checkout, only the file is shown. If
    `path` itself is a shared folder or a checkout, nothing is shown. The Node.js packages in the folders above a file
    are also shown.
    """
    real = path.resolve()
    for place in dict.fromkeys((path, real)):
        folder = place if place.is_dir() else place.parent
        if _is_own(folder.resolve()) and not hidden.is_checkout(folder.resolve()):
            yield folder
        elif place.is_file():
            yield place
    for above in real.parents if real.is_file() else ():
        yield from (
            above / name for name in ("node_modules", "package.json") if (above / name).exists()
        )


def _is_own(folder: Path) -> bool:
    """Return True if a folder probably belongs to one user or program and is not shared by all."""
    home = Path.home().resolve()
    common = {Path(path) for path in _COMMON} | {home, *home.parents}
    if folder in common or any(folder.is_relative_to(path) for path in _NEVER):
        return False
    return not folder.stat().st_mode & stat.S_ISVTX


def _installation(program: Path) -> Iterator[Path]:
    """Yield the folders of the installation that a program belongs to: Python, Node.js or conda.

    For a virtual environment, these are its folder and the folder of the Python on which it is based.
    """
    for place in dict.fromkeys((program, program.resolve())):
        prefix = place.parent.parent
        settings = prefix / "pyvenv.cfg"
        if settings.is_file():
            yield prefix
            home = dict(_entries(settings)).get("home")
            yield from _installation(Path(home) / "python3") if home else ()
        elif _is_own(prefix) and _is_installation(prefix):
            yield prefix


def _is_installation(prefix: Path) -> bool:
    signs = ("lib/python3*/os.py", "lib/node_modules", "conda-meta")
    return any(True for sign in signs for _ in prefix.glob(sign))


def _entries(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        yield name.strip(), value.strip()


def _links(path: str) -> Iterator[tuple[str, str]]:
    """Yield each symbolic link on a path, with its target."""
    todo = [part for part in path.split("/") if part][::-1]
    at = ""
    while todo and len(todo) < 1000:
        part = todo.pop()
        if part == "..":
            at = os.path.dirname(at)
        elif part != ".":
            here = f"{at}/{part}"
            if os.path.islink(here):
                target = os.readlink(here)
                yield here, target
                at = "" if target.startswith("/") else at
                todo += [each for each in target.split("/") if each][::-1]
            else:
                at = here
