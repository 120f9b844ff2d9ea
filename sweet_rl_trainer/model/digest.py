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
    weights = [path for pattern in WEIGHT_FILES for path in folder.glob(pattern)]
    if not weights or not (folder / "config.json").is_file():
        raise UserError(f"{folder} is no checkpoint: it needs config.json and {WEIGHT_FILES[0]}")
    files = sorted([folder / "config.json", *weights])
    digest = hashlib.sha256()
    with ThreadPoolExecutor() as pool:
        for path, content in zip(files, pool.map(_digest, files), strict=True):
            digest.update(f"{path.name}\0".encode() + content)
    return digest.hexdigest()


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
