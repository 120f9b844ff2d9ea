"""Unicode's complete table of characters that look alike (confusable characters, UTS 39)."""

from __future__ import annotations

import lzma
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def prototypes() -> Mapping[int, str]:
    """Return a table for `str.translate` that maps each confusable character to the characters that it looks like."""
    table = files("colbench_leaderboard.bundle").joinpath("unicode", "confusables.txt.xz")
    lines = lzma.decompress(table.read_bytes()).decode("utf-8").splitlines()
    rows = (line.split(";") for line in lines if line and not line.startswith("#"))
    return {int(source, 16): _text(target) for source, target in rows}


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())
