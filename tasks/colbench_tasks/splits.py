"""The training split and the test split: each design and each request belongs to one of them.

The hash of a design's or request's text determines the split. The test set of any seed therefore shares no design or
request with the training set.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from colbench.config import derive_seed

Split = Literal["train", "test"]
TRAIN = "train"
"""The only seed that draws from the training split."""
_TEST_SHARE = 11
"""One in `_TEST_SHARE` designs, and one in `_TEST_SHARE` requests, belongs to the test split."""


def split_of(seed: str) -> Split:
    """Return the split whose tasks a seed generates: `train` for `TRAIN`, `test` for any other seed."""
    return "train" if seed == TRAIN else "test"


def share(split: Split) -> Fraction:
    """Return the expected share of all designs that belong to a split. The share of the requests is the same."""
    test = Fraction(1, _TEST_SHARE)
    return test if split == "test" else 1 - test


def side(text: str) -> Split:
    """Return the split, `train` or `test`, of the design or request with this text."""
    return "test" if derive_seed("side", text) % _TEST_SHARE == 0 else "train"
