"""Seed texts, one on each line of a file: as plain text, or as a JSON object with the key `text`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.config import digest
from colbench.errors import DataError
from colbench.task import BYTE_ORDER_MARK


class Seed(Struct, frozen=True, kw_only=True):
    """One seed text, and the key under which its outcome is recorded."""

    key: str
    """Hash of the text, the model and the prompt."""
    text: str


class _Row(Struct):
    text: str


def read_seeds(path: Path, *, model: str, prompt: str, limit: int | None = None) -> list[Seed]:
    """Return the distinct seed texts of a file, in order: all, or the first `limit`.

    If the file begins with a brace, every line must be a JSON object; blank lines are ignored. Each text's key also
    depends on the name `model` and the prompt's hash `prompt`. Raises DataError if the file cannot be read, is not
    UTF-8, contains no text, or has a malformed line, which the message names.
    """
    try:
        content = path.read_bytes().removeprefix(BYTE_ORDER_MARK).decode()
    except OSError as cause:
        raise DataError(f"--source {path}: cannot be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise DataError(f"--source {path}: not UTF-8 at byte {cause.start}") from cause
    texts = list(dict.fromkeys(_texts(content, path)))[:limit]
    if not texts:
        raise DataError(f"--source {path}: contains no text; expected one text per line")
    return [Seed(key=digest([text, model, prompt]), text=text) for text in texts]


def _texts(content: str, path: Path) -> Iterator[str]:
    decoder = msgspec.json.Decoder(_Row) if content.lstrip().startswith("{") else None
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            text = decoder.decode(line).text if decoder else line
        except msgspec.DecodeError as cause:
            raise DataError(
                f"--source {path}, line {number}: {cause}; the file begins with a brace, so each "
                "line must be a JSON object with the key `text`"
            ) from cause
        if not text.strip():
            raise DataError(f"--source {path}, line {number}: `text` is empty")
        yield text.strip()
