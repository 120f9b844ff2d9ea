"""The settings for ranking candidates, and for training on the pairs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sweet_rl_trainer.data.token_weights import Rule as WeightRule
from sweet_rl_trainer.methods.ranking.choose import Imitate, Loss, Rule
from sweet_rl_trainer.methods.ranking.score import Preset
from sweet_rl_trainer.settings import Count, NotNegative, Share, TrainSettings

Scale = Literal["fit", "none"]


class RankSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for scoring replies and for pairing them by score."""

    scores: Preset = "critic"
    continuations: Count = 8
    """Number of times that the agent of the first run continues each candidate; only for the scores `returns`."""
    cost: NotNegative = 0.01
    """κ, the cost of a question in units of the reward, for the scores `facts` and `gain`. Ours."""
    told_later: Share = 0.5
    """p of `facts`: the probability that a still hidden fact is revealed later (`credit.facts`). Ours."""
    scale: Scale = "fit"
    """The unit of `facts` and `gain`: "fit" for the reward's unit (`credit.scale`), "none" for their own unit. Ours."""
    pairs: Rule = "halves"
    pairs_per_turn: Count = 4
    """Number of pairs for each turn. Paper."""
    margin: NotNegative = 0.0
    """Minimum difference of the scores in a pair, for `pairs = "margin"`. Ours."""
    calibrate: bool = False
    """True to shift the scores of answers according to the outcomes of the recorded answers (`calibrate`). Ours."""
    seed: int = 0
    row_tokens: Count = 16_384
    """Maximum number of tokens scored in one batch; this number determines memory use."""


class ActorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phase 2: training on the pairs of replies."""

    train: TrainSettings
    loss: Loss = "dpo"
    """The actor's loss: "dpo" on pairs (paper), or "nll" (ours).

    "nll" is RFT of single replies: the chosen replies are imitated, and the other replies do not count.
    """
    token_weights: WeightRule = "sum"
    imitate: Imitate = "chosen"
    """The chosen replies whose NLL is in the loss: all chosen replies or, with "successes", only successful answers.

    "successes" requires the scores `facts` or `gain`. Ours.
    """
    max_length: Count = 16_384
    """Maximum number of tokens of context and reply; a pair with a longer side is left out. Paper."""
