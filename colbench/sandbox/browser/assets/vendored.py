"""Third-party files that ship with the package, next to their licenses; vendor/README.md states their origins."""

from __future__ import annotations

import lzma
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

VENDOR = Path(__file__).parent / "vendor"
FONTS = VENDOR / "fonts"


@lru_cache(maxsize=4)
def unpacked(name: str) -> bytes:
    """Return the content of `vendor/tailwind/{name}.xz`."""
    return lzma.decompress((VENDOR / "tailwind" / f"{name}.xz").read_bytes())


def content_hash(folder: Path, pattern: str = "*", *, without: str = "") -> str:
    """Return a hash of the names and contents of all files in a folder that match the pattern.

    Compiled files and the subfolder `without` are left out.
    """
    digest = blake2b(digest_size=6)
    for path in sorted(folder.rglob(pattern)):
        name = path.relative_to(folder)
        if path.is_file() and path.suffix != ".pyc" and name.parts[0] != without:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


VERSION = content_hash(Path(__file__).parent)
"""Version of the vendored files and of the code next to them; if it differs, pictures may differ."""
