"""The critic's settings, in a separate module so that reading a recipe does not import PyTorch."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sweet_rl_trainer.data.pairs import PairSettings
from sweet_rl_trainer.data.privileged import Template
from sweet_rl_trainer.data.token_weights import Rule
from sweet_rl_trainer.settings import Count, TrainSettings

PIXELS = 256 * 28 * 28


class VisionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a critic that sees pages: a regression head on a separate model, Qwen2-VL or Qwen2.5-VL."""

    model: str
    """A folder, or `OWNER/NAME` or `OWNER/NAME@REVISION` on the Hugging Face Hub. Paper: Qwen2-VL-7B."""
    max_pixels: Count = PIXELS
    """Maximum number of pixels of a picture. Each 28 x 28 pixels become one image token. Ours."""
    read_pages: bool = True
    """True if the critic reads each page's source in addition to its picture; False shortens dialogues. Ours."""


class CriticSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of phase 1, which trains the critic. They also determine how the critic scores replies."""

    train: TrainSettings
    pairs: PairSettings = PairSettings()
    token_weights: Rule = "turn-mean"
    privileged: Template | Literal["none"] = "preamble"
    """The template that states the privileged information to the critic; "none" hides it (an ablation of the paper)."""
    max_length: Count = 8192
    """Maximum number of tokens; a longer example is left out. Paper."""
    vision: VisionSettings | None = None
    """Settings of a critic that sees pages, which requires `train.score` "value". Paper: only in frontend design."""


def template_of(table: CriticSettings) -> Template | None:
    """Return the template that states the reference to the critic; None if the critic does not see the reference."""
    return None if table.privileged == "none" else table.privileged
