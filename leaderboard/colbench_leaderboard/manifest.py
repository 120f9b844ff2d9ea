"""`MANIFEST.sha256`: the digest of every other file; its own is that of the bundle."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from colbench_leaderboard.bundle import MANIFEST
from colbench_leaderboard.files import NAMES, opened
from colbench_leaderboard.refused import Refused

LINE = re.compile(rb"([0-9a-f]{64})  ([ -~]+)")


def manifest(folder: Path, names: Iterable[str]) -> bytes:
    """The manifest of these files."""
    return b"".join(f"{file_hash(folder, name)}  {name}\n".encode() for name in sorted(names))


def listed(content: bytes) -> dict[str, str]:
    """The digests by name. Raises Refused: `manifest.malformed`, `manifest.order`."""
    digests: dict[str, str] = {}
    before = ""
    *lines, last = content.split(b"\n")
    if last:
        raise Refused("manifest.malformed", "its last line has no line break", file=MANIFEST)
    for number, line in enumerate(lines, start=1):
        found = LINE.fullmatch(line)
        name = found[2].decode() if found else ""
        if found is None or not NAMES.fullmatch(name) or name == MANIFEST:
            said = "not `SHA256  PATH` of a file of the bundle"
            raise Refused("manifest.malformed", said, file=MANIFEST, line=number)
        if name <= before:
            said = "the files are not sorted, or one is there twice"
            raise Refused("manifest.order", said, file=MANIFEST, line=number)
        digests[name] = found[1].decode()
        before = name
    return digests


def require_same(folder: Path, digests: Mapping[str, str], names: set[str]) -> None:
    """Raise Refused where the files are not those of the manifest.

    Rules: `manifest.missing`, `manifest.unlisted`, `manifest.digest`, `blob.digest`.
    """
    if absent := sorted(digests.keys() - names):
        raise Refused(
            "manifest.missing", "the manifest has it, the bundle lacks it", file=absent[0]
        )
    if beside := sorted(names - digests.keys()):
        raise Refused("manifest.unlisted", "the manifest lacks it", file=beside[0])
    for name, stated in digests.items():
        found = file_hash(folder, name)
        if found != stated:
            said = f"its SHA-256 is {found}, the manifest says {stated}"
            raise Refused("manifest.digest", said, file=name)
        blob = name.partition("/")[2]
        if len(blob) == len(found) and blob != found:
            raise Refused("blob.digest", f"its SHA-256 is {found}, not its name", file=name)


def file_hash(folder: Path, name: str) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with opened(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
