"""Large, nested or binary parts of hostile pages. Placeholders stand for them in `sources/`."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from functools import cache


@cache
def pieces() -> dict[str, str]:
    """Return the replacements for the placeholders in the sources."""
    return {
        "PNG_BOMB_23000": png_bomb(23_000),
        "PNG_BOMB_9000": png_bomb(9_000),
        "MOVING_PICTURE": moving_picture("gif"),
        "MOVING_PNG": moving_picture("png"),
        "MOVING_WEBP": moving_picture("webp"),
        "BOMB_USE": _levels('<g id="a{next}">', '<use href="#a{n}" x="1"/>' * 10, "</g>"),
        "BOMB_PATTERN": _levels(
            '<pattern id="p{next}" width="9" height="9" patternUnits="userSpaceOnUse">',
            '<rect width="9" height="9" fill="url(#p{n})"/>' * 8,
            "</pattern>",
        ),
        "BOMB_MASK": _levels(
            '<mask id="m{next}">',
            '<rect width="1280" height="720" mask="url(#m{n})" fill="#fff"/>' * 6,
            "</mask>",
        ),
        "BOMB_VARIABLE": _levels("--v{next}:", "var(--v{n}) " * 9, ";"),
        "BOMB_ENTITY": _levels("<!ENTITY e{next} '", "%26e{n};" * 12, "'>"),
        "SURROGATE": "\ud83d and \udc00",
    }


def png_bomb(side: int) -> str:
    """Return a `data:` URL of a picture of `side` x `side` equal one-bit pixels: few bytes, much memory."""
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((side // 8 + 2) * side), 9)
    chunks = (b"IHDR", header), (b"IDAT", rows), (b"IEND", b"")
    return _data("image/png", b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))


def moving_picture(kind: str) -> str:
    """Return a `data:` URL of a GIF, PNG or WebP that changes its color forever."""
    from PIL import Image

    colors = ((n, 255 - n, n * 7 % 256) for n in range(200))
    frames = [Image.new("RGB", (8, 8), color) for color in colors]
    stream = io.BytesIO()
    frames[0].save(
        stream, kind.upper(), save_all=True, append_images=frames[1:], duration=20, loop=0
    )
    return _data(f"image/{kind}", stream.getvalue())


def _levels(start: str, content: str, end: str) -> str:
    """Return nine definitions, each of which uses the previous one several times."""
    level = start + content + end
    return "".join(level.replace("{next}", str(n + 1)).replace("{n}", str(n)) for n in range(9))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
