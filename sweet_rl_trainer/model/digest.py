"""The digest of a checkpoint: what tells a model from all others."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from colbench.errors import UserError

WEIGHT_FILES = ("model*.safetensors", "pytorch_model*.bin")


def model_digest(folder: Path) -> str:
    """SHA-256 over the configuration and the weights of a checkpoint: their names and bytes.

    Raises UserError when the folder holds none.
    """
    if not is_whole(folder):
        raise UserError(f"{folder} is no checkpoint: it needs config.json and {WEIGHT_FILES[0]}")
    files = sorted([folder / "config.json", *_weights(folder)])
    digest = hashlib.sha256()
    with ThreadPoolExecutor() as pool:
        for path, content in zip(files, pool.map(_digest, files), strict=True):
            digest.update(f"{path.name}\0".encode() + content)
    return digest.hexdigest()


def is_whole(folder: Path) -> bool:
    """Return True if a folder holds a configuration and weights."""
    return bool(_weights(folder)) and (folder / "config.json").is_file()


def _weights(folder: Path) -> list[Path]:
    return [path for pattern in WEIGHT_FILES for path in folder.glob(pattern)]


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
