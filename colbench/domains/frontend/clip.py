"""The CLIP encoder, which turns pictures into unit vectors, in batches, on the CPU or a GPU.

Pictures are decoded and resized in threads, so that scoring overlaps rendering. On the CPU, each core runs its own
batches on one thread. If several OpenMP threads shared a batch, they would wait for each other while a browser is busy,
and waiting threads waste CPU time by spinning. On two shared cores, a single picture took 1.0 to 1.3 s of CPU time with
two threads, and 0.15 s with one.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from colbench.config import workers
from colbench.domains.frontend.batches import Batches
from colbench.domains.frontend.known import Known
from colbench.domains.frontend.pictures import View, frame
from colbench.domains.frontend.weights import MissingWeightsError, find_weights, load_tower
from colbench.errors import ScorerError, UserError, boundary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch.nn import Module

    Vectors = NDArray[np.float32]
    Pixels = NDArray[np.uint8]

CPU_BATCH = 16
CUDA_BATCH = 32
MOST_KNOWN = 4096
"""Maximum number of pictures whose vectors are kept: enough for test targets and the pages of running dialogues."""


logger = logging.getLogger("colbench")


class DeviceError(UserError):
    """The requested device cannot be used."""


def find_clip(
    weights: str | Path | None = None, *, device: str = "auto", allow_unpinned: bool = False
) -> ClipEncoder | None:
    """Return the encoder (`ClipEncoder`). If the weights or open_clip are missing, log a warning and return None."""
    try:
        return ClipEncoder(weights, device=device, allow_unpinned=allow_unpinned)
    except MissingWeightsError as error:
        logger.warning(
            "%s. Pages are scored without the cosine similarity; `colbench score` can add it later",
            error,
        )
        return None


class ClipEncoder:
    """CLIP's image encoder with the paper's weights, or with other weights from `weights` (see `find_weights`).

    `device`: `cpu`, `cuda` (or `cuda:1`), or `auto` for a GPU if one is available. `batch`: maximum number of views in
    one forward pass, by default 16 on the CPU and 32 on a GPU. The encoder is an async context manager; closing it ends
    its threads. The constructor raises MissingWeightsError if the weights or open_clip are missing, UserError if the
    weights cannot be used, and DeviceError if the device cannot be used.
    """

    def __init__(
        self,
        weights: str | Path | None = None,
        *,
        device: str = "auto",
        batch: int | None = None,
        allow_unpinned: bool = False,
    ) -> None:
        found = find_weights(Path(weights) if weights else None, allow_unpinned=allow_unpinned)
        self.device = _device(device)
        self.identity = found.identity
        """The model and its weights, such as `ViT-B-32-quickgelu@40d36571`."""
        self._tower = load_tower(found).to(self.device)
        self._size = int(self._tower.image_size[0])  # type: ignore[index]
        on_cpu = self.device == "cpu"
        if on_cpu:
            _multiply_with_onednn(self._tower)
        self._batches = Batches(
            self._forward,
            size=batch or (CPU_BATCH if on_cpu else CUDA_BATCH),
            lanes=workers(0) if on_cpu else 1,
            prepare=_work_alone,
        )
        self._known: Known[tuple[bytes, tuple[View, ...]], Vectors] = Known(MOST_KNOWN)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._batches.close()

    async def embed(self, picture: bytes, *views: View) -> Vectors:
        """Return unit vectors of a PNG picture's views, in the order of `views`; float32, shape (len(views), features).

        Raises ScorerError if the picture cannot be read or the device fails.
        """
        key = (hashlib.sha256(picture).digest(), views)
        return await self._known.get(key, lambda: self._compute(picture, views))

    async def _compute(self, picture: bytes, views: tuple[View, ...]) -> Vectors:
        import numpy as np

        with boundary(ScorerError):
            pixels = await asyncio.to_thread(frame, picture, views, self._size)
            return np.stack(await asyncio.gather(*map(self._batches.run, pixels)))

    def _full_precision(self) -> AbstractContextManager[None]:
        """Return a context in which cuDNN does not use TensorFloat-32 for CLIP's convolution.

        TensorFloat-32 would change results in the third decimal.
        """
        import torch

        if self.device == "cpu":
            return nullcontext()
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)

    def _forward(self, pictures: Sequence[Pixels]) -> list[Vectors]:
        """Return the unit vectors of views, each view an array of shape (size, size, 3)."""
        import numpy as np
        import torch
        from open_clip import OPENAI_DATASET_MEAN, OPENAI_DATASET_STD

        with torch.inference_mode(), self._full_precision():
            pixels = torch.from_numpy(np.stack(pictures)).to(self.device).permute(0, 3, 1, 2) / 255
            mean, std = (
                torch.tensor(values, device=self.device).view(1, 3, 1, 1)
                for values in (OPENAI_DATASET_MEAN, OPENAI_DATASET_STD)
            )
            features = self._tower((pixels - mean) / std)
            return list(torch.nn.functional.normalize(features, dim=-1).cpu().numpy())


def _device(wanted: str) -> str:
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError) as cause:
        reason = str(cause).splitlines()[0]
        raise DeviceError(f"CLIP cannot run on the device {wanted!r}: {reason}") from cause
    return wanted


def _multiply_with_onednn(tower: Module) -> None:
    """Use oneDNN for the MLP blocks of the vision tower, still in float32.

    By default, PyTorch uses MKL, which is half as fast on some processors. The resulting vectors agree to 1e-7.
    """
    import torch

    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # to_mkldnn uses TorchScript
        from torch.utils.mkldnn import to_mkldnn

        for block in list(tower.modules()):
            if isinstance(getattr(block, "mlp", None), torch.nn.Module):
                block.mlp = to_mkldnn(block.mlp)  # type: ignore[no-untyped-call]


def _work_alone() -> None:
    """Make PyTorch compute in the calling thread only, without helper threads."""
    import torch

    torch.set_num_threads(1)
