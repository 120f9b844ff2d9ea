"""CLIP's weights: finding or downloading them, verifying their hash, and loading them completely.

The paper's model is OpenAI's ViT-B/32, which open_clip calls `ViT-B-32-quickgelu`. The plain `ViT-B-32` of open_clip
has a different activation function and is silently wrong with these weights.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from colbench.errors import UserError, describe_exception

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

MODEL = "ViT-B-32-quickgelu"
SHA256 = "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af"
"""Hash of `ViT-B-32.pt` as published by OpenAI in 2021."""
ADDRESS = f"https://openaipublic.azureedge.net/clip/models/{SHA256}/ViT-B-32.pt"
CACHE = Path("~/.cache/clip")
"""Folder where OpenAI's own package and open_clip store the same file."""
PATIENCE = 5.0
"""Seconds after which a URL that does not answer counts as unreachable."""
CONFIG = "open_clip_config.json"
SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")
VISUAL = "visual."


class MissingWeightsError(UserError):
    """The error if open_clip is not installed, or if CLIP's weights are not cached and could not be fetched.

    Scoring can continue without the CLIP cosine.
    """


class OtherWeightsError(UserError):
    """The error if the weights are not the paper's weights, and other weights were not allowed."""


class Weights(Struct, frozen=True, kw_only=True):
    """A weights file whose bytes were read and hashed."""

    file: Path
    sha256: str
    config: Path | None = None
    """The `open_clip_config.json` of another architecture; None for `MODEL`."""

    @property
    def pinned(self) -> bool:
        """True if these are the paper's weights, byte for byte."""
        return self.sha256 == SHA256

    @property
    def identity(self) -> str:
        """The architecture and a prefix of the file's hash, such as `ViT-B-32-quickgelu@40d36571`."""
        return f"{'custom' if self.config else MODEL}@{self.sha256[:8]}"


def find_weights(source: Path | None = None, *, allow_unpinned: bool = False) -> Weights:
    """Find the weights in `source` or, if it is None, OpenAI's weights in the cache or on the network.

    `source`: a weights file, or a folder with a weights file (see `SUFFIXES`) and an `open_clip_config.json`.
    Raises MissingWeightsError if `source` is None and the download failed, or if open_clip is not installed; UserError
    if `source` cannot be used or the file cannot be read; OtherWeightsError if the hash is not the paper's, unless
    `allow_unpinned` is set.
    """
    if find_spec("open_clip") is None:
        raise MissingWeightsError(
            "no CLIP: open_clip is not installed; run `pip install 'colbench[frontend]'`"
        )
    file = fetch() if source is None else _file_in(source)
    sha256 = _digest(file)
    if sha256 == SHA256:
        return Weights(file=file, sha256=sha256)
    if not allow_unpinned:
        raise OtherWeightsError(
            f"{file}: not the paper's CLIP weights: SHA-256 {sha256}, expected {SHA256} "
            f"(OpenAI's ViT-B-32.pt, {ADDRESS}); scores from other weights are not comparable; "
            "use the paper's weights, or allow these"
        )
    config = source / CONFIG if source is not None and source.is_dir() else None
    return Weights(file=file, sha256=sha256, config=config)


def fetch(address: str = ADDRESS, cache: Path = CACHE, patience: float = PATIENCE) -> Path:
    """Return the path of the cached copy of the file at the URL `address`; download it with open_clip if necessary.

    Raises MissingWeightsError if the file is not cached and cannot be downloaded.
    """
    target = cache.expanduser() / Path(address).name
    if target.is_file():
        return target
    try:
        _check_reachable(address, patience)
        from open_clip.pretrained import download_pretrained_from_url as download

        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent) as folder:
            os.replace(download(address, cache_dir=folder), target)
    except (OSError, RuntimeError) as cause:
        raise MissingWeightsError(
            f"no CLIP weights: {target} does not exist and {address} cannot be fetched ({cause}); "
            "download the file yourself, and put it at that path or pass it with --clip-weights"
        ) from cause
    return target


def _check_reachable(address: str, patience: float) -> None:
    """Raise OSError if HF_HUB_OFFLINE is set, or if a URL gives an error or no answer within `patience` seconds.

    The check comes before the download because open_clip's download has no time limit.
    """
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "ON", "YES", "TRUE"}:
        raise OSError("HF_HUB_OFFLINE is set")
    request = urllib.request.Request(address, method="HEAD")  # noqa: S310
    with urllib.request.urlopen(request, timeout=patience):  # noqa: S310
        pass


def _file_in(source: Path) -> Path:
    """Return the weights file that `source` is or contains. Raises UserError if no weights file is found."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise UserError(f"{source}: no such file or folder; expected CLIP weights")
    if not (source / CONFIG).is_file():
        raise UserError(f"{source}: no {CONFIG} in this folder; pass the weights file itself")
    files = [file for suffix in SUFFIXES for file in sorted(source.glob(f"*{suffix}"))]
    if not files:
        raise UserError(f"{source}: no weights in this folder ({', '.join(SUFFIXES)})")
    return files[0]


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as cause:
        raise UserError(f"{file}: cannot be read: {cause.strerror}") from cause


def load_tower(weights: Weights) -> Module:
    """Load CLIP's image tower with these weights, in float32, on the CPU.

    The tower is created without storage and takes every tensor from the file, so that no tensor keeps random values.
    Raises UserError if the file or the configuration is invalid, or if the weights do not fit the architecture.
    """
    import torch
    from open_clip import CLIP, get_model_config

    try:
        folder = weights.config and weights.config.parent
        config: dict[str, Any] = get_model_config(f"local-dir:{folder}" if folder else MODEL)
        with torch.device("meta"):
            tower: Module = CLIP(**config).visual
    except Exception as cause:
        raise UserError(
            f"{weights.config or MODEL}: not a standard CLIP configuration: {describe_exception(cause)}"
        ) from cause
    try:
        tower.load_state_dict(read_visual(weights), strict=True, assign=True)
    except RuntimeError as cause:
        first = str(cause).strip().splitlines()[1:2]
        raise UserError(
            f"{weights.file}: weights for a different architecture than {weights.config or MODEL}: "
            f"{' '.join(first).strip() or cause}"
        ) from cause
    return tower.float().eval().requires_grad_(False)


def read_visual(weights: Weights) -> dict[str, Tensor]:
    """Read the tensors of the image tower, by their names within the tower. Raises UserError if the file is invalid.

    OpenAI's file is a TorchScript archive, which can contain code. A file is opened as an archive only if it has
    the hash of the paper's weights.
    """
    try:
        state = _read_state(weights.file, archive=weights.pinned)
    except Exception as cause:
        reason = describe_exception(cause)
        raise UserError(f"{weights.file}: cannot be read as CLIP weights: {reason}") from cause
    return {
        name.removeprefix(VISUAL): tensor
        for name, tensor in state.items()
        if name.startswith(VISUAL)
    }


def _read_state(file: Path, *, archive: bool) -> dict[str, Tensor]:
    import torch

    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(file))
    if archive:
        return read_archive(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = torch.load(file, map_location="cpu", weights_only=True)
    return dict(content.get("state_dict", content))


def read_archive(file: Path) -> dict[str, Tensor]:
    """Read the tensors of a TorchScript archive. Loading executes code in the archive, so use only trusted files."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return dict(torch.jit.load(file, map_location="cpu").state_dict())  # type: ignore[no-untyped-call]
