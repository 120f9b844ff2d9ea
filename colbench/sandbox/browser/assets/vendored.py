"""Files of others that ship with the package, licences beside them; vendor/README.md says where each is from."""

from __future__ import annotations

import lzma
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

VENDOR = Path(__file__).parent / "vendor"
FONTS = VENDOR / "fonts"


@lru_cache(maxsize=4)
def unpacked(name: str) -> bytes:
    """The content of `vendor/tailwind/{name}.xz`."""
    return lzma.decompress((VENDOR / "tailwind" / f"{name}.xz").read_bytes())


def _version() -> str:
    """Hash of all that is vendored and of the code beside it: another version may make other pictures."""
    digest = blake2b(digest_size=6)
    files = [path for path in Path(__file__).parent.rglob("*") if path.suffix != ".pyc"]
    for path in sorted(path for path in files if path.is_file()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


VERSION = _version()
