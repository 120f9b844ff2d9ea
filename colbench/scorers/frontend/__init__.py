"""Likeness of a page to the hidden design; what each measure sees is in docs/frontend.md."""

from colbench.scorers.frontend.clip import ClipEncoder, find_clip
from colbench.scorers.frontend.scorer import FrontendScorer
from colbench.scorers.frontend.weights import MissingWeightsError

__all__ = ["ClipEncoder", "FrontendScorer", "MissingWeightsError", "find_clip"]
