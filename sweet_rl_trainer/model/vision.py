"""Inputs for the pictures of a vision value model (`value_head`).

A sequence contains a run of image tokens for each of its pictures, and the names of the pictures. Sequences with
pictures are not packed: they form one padded batch without shared prefixes. The model's own image processor
computes the pixel values of a picture and its grid of patches. The model's own `get_rope_index` computes the positions
on three axes (M-RoPE) within each sequence of the batch.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from colbench.errors import DataError
from sweet_rl_trainer.model.packing import Row


def padded(row: Row, config: Any) -> dict[str, Tensor | None]:
    """Return the model inputs for a row of sequences with pictures, as a batch."""
    sequences = torch.split(row.ids, list(row.lengths))
    ids = pad_sequence(list(sequences), batch_first=True)
    seen = pad_sequence([torch.ones_like(each) for each in sequences], batch_first=True)
    return {
        "input_ids": ids,
        "attention_mask": seen,
        "mm_token_type_ids": (ids == config.image_token_id).int() * seen,
        "pixel_values": row.pixels,
        "image_grid_thw": row.grids,
    }


def unpadded(row: Row, values: Tensor) -> Tensor:
    """Return a model's value at each of the T tokens of a row, [T]; the values at padding tokens are removed."""
    if not row.pictures:
        return values.flatten()
    return torch.cat([each[:length] for each, length in zip(values, row.lengths, strict=True)])


class Pixels:
    """A reader of the pictures in a folder; a model's image processor computes their pixel values and grids."""

    def __init__(self, pictures: Path, processor: Any) -> None:
        self._folder = pictures
        self._processor = processor

    def of(self, row: Row) -> Row:
        """Return the row with the pixel values and grids of its pictures.

        Raises DataError if a picture is missing or cannot be read.
        """
        if not row.pictures:
            return row
        images = [self._open(name) for name in row.pictures]
        found = self._processor(images=images, return_tensors="pt")
        return dataclasses.replace(row, pixels=found["pixel_values"], grids=found["image_grid_thw"])

    def _open(self, name: str) -> Any:
        from PIL import Image

        path = self._folder / f"{name}.png"
        try:
            with Image.open(path) as image:
                return image.convert("RGB")
        except OSError as cause:
            raise DataError(
                f"{path}: {cause}; to render the pages again, delete the folders of the stages `critic-data` and `rank`"
            ) from cause
