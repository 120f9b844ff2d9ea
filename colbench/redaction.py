"""Removal of private data from what is published about a run: folders, URLs and commands."""

from __future__ import annotations

import re
from pathlib import Path

from colbench.config import without_address

FILE_ENDS = (".py", ".jsonl", ".json", ".parquet", ".gz", ".txt", ".md")
PATH = re.compile(r"(?<![\w./~])(?:~/|/|[A-Za-z]:\\)(?:[^\s/\\:;,'\"()]+[/\\])*([^\s/\\:;,'\"()]+)")
ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*)://[^\s'\"<>]+", re.IGNORECASE)


def scrub(text: str) -> str:
    """Return a text with URLs reduced to the scheme, and paths to the file name.

    A path begins with `/`, `~/` or a drive.
    """
    return PATH.sub(r"\1", ADDRESS.sub(r"\1:…", text))


def public_spec(spec: str) -> str:
    """Return a spec without private parts: `cmd` for `cmd:python /a/agent.py`, `agent.py:A` for `/a/agent.py:A`.

    Of a `local:` model, and of a `vllm:` model that is a folder, only the part after the last slash is kept.
    """
    kind, _, model = spec.partition(":")
    if kind == "cmd":
        return kind
    if kind == "local" or (kind == "vllm" and _is_folder(model)):
        return f"{kind}:{_last(model)}"
    return scrub(":".join(map(_base, without_address(spec).split(":"))))


def _base(part: str) -> str:
    is_path = part.startswith(("/", "~", ".")) or part.endswith(FILE_ENDS)
    return _last(part) if is_path else part


def _is_folder(model: str) -> bool:
    """Return True if a model is a folder, not an OWNER/NAME."""
    return model.count("/") > 1 or Path(model).expanduser().is_dir()


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
