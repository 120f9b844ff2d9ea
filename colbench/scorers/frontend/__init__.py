"""Likeness of a page to the hidden design; what each measure sees is in docs/frontend.md."""

from colbench.scorers.frontend.clip import ClipEncoder, DeviceError, find_clip
from colbench.scorers.frontend.scorer import FrontendScorer
from colbench.scorers.frontend.weights import MissingWeightsError, OtherWeightsError

__all__ = [
    "ClipEncoder",
    "DeviceError",
    "FrontendScorer",
    "MissingWeightsError",
    "OtherWeightsError",
    "find_clip",
]
