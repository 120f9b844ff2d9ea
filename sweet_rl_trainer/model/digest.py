"""Digests of files and of checkpoints. The digest of a checkpoint identifies a model.

A process caches the digest of a checkpoint under the names, inodes, sizes and times of the checkpoint's files, so it
rarely hashes a checkpoint twice. If a file was changed very recently, the digest is not cached, because another change
might leave these values as they are.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.errors import UserError

WEIGHT_FILES = ("model*.safetensors", "pytorch_model*.bin")
WHOLE = ("model.safetensors", "pytorch_model.bin")
"""Names of a file that contains all weights. If the weights are in several files, NAME.index.json lists the files."""

SETTLED = 2.0
"""Number of seconds after which another change of a file gets a different timestamp on every file system."""

Signature = tuple[tuple[str, int, int, int, int, int], ...]
"""For each file: name, device, inode, size, and the times of the last content and metadata changes, in ns."""
_known: dict[Signature, str] = {}


class _Index(Struct, frozen=True):
    weight_map: dict[str, str]


def model_digest(folder: Path) -> str:
    """Return the digest of a checkpoint: a SHA-256 over the name and SHA-256 of `config.json` and of each weight file.

    Raises UserError if the checkpoint is not complete.
    """
    if not is_whole(folder):
        raise UserError(
            f"{folder} is not a complete checkpoint: it needs config.json, and {' or '.join(WHOLE)}; weights in "
            "several files need an index (such as model.safetensors.index.json) and all files that it lists"
        )
    files = sorted([folder / "config.json", *_weights(folder)])
    signature, begun = _signature(files), time.time_ns()
    if found := _known.get(signature):
        return found
    digest = hashlib.sha256()
    with ThreadPoolExecutor() as pool:
        for path, content in zip(files, pool.map(file_digest, files), strict=True):
            digest.update(f"{path.name}\0".encode() + bytes.fromhex(content))
    latest = max(changed for *_, changed in signature)
    if latest < begun - SETTLED * 1e9 and _signature(files) == signature:
        _known[signature] = digest.hexdigest()
    return digest.hexdigest()


def is_whole(folder: Path) -> bool:
    """Return True if a folder contains a configuration and weights, including every file in the weights' index."""
    return (folder / "config.json").is_file() and any(
        (folder / name).is_file() or _holds_listed(folder / f"{name}.index.json") for name in WHOLE
    )


def _holds_listed(index: Path) -> bool:
    """Return True if the index of weights exists, and all files that it lists exist."""
    if not index.is_file():
        return False
    try:
        files = msgspec.json.decode(index.read_bytes(), type=_Index).weight_map.values()
    except msgspec.DecodeError:
        return False
    return all((index.parent / name).is_file() for name in set(files))


def _weights(folder: Path) -> list[Path]:
    return [path for pattern in WEIGHT_FILES for path in folder.glob(pattern)]


def _signature(files: Sequence[Path]) -> Signature:
    found = [(path.name, path.stat()) for path in files]
    return tuple(
        (name, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, s in found
    )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
