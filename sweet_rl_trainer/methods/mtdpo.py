"""Multi-turn DPO: prefer whole dialogues over worse ones about the same task.

    mtdpo-data    pairs of dialogues (τ⁺, τ⁻), tokenized; weight 1 for each token that the agent wrote
    mtdpo         L = -log σ(β (S(τ⁺) - S(τ⁻))) + λ NLL(τ⁺),   S(τ) = Σ_i log π(x_i) - log π_ref(x_i)
    export

Paper: arXiv 2503.15478, section 5 (baselines) and the appendix on hyper-parameters: β 0.1, λ 0.01, learning rate 2e-7,
batches of 8, 4 epochs (8 in frontend design), at most 16,384 tokens. τ⁺ is the best dialogue of a task if it succeeded,
and τ⁻ is any worse one. In frontend design, any two dialogues form a pair if the CLIP cosines of their answers differ
by at least 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from sweet_rl_trainer.data.pairs import PAPER_PAIRS, PairSettings
from sweet_rl_trainer.data.token_weights import Rule as WeightRule
from sweet_rl_trainer.pipeline.examples import paired
from sweet_rl_trainer.pipeline.iteration import Iteration
from sweet_rl_trainer.pipeline.method import Method, paper_epochs
from sweet_rl_trainer.pipeline.stage import Stage
from sweet_rl_trainer.settings import Count, TrainSettings


class MtdpoSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of multi-turn DPO, which trains on pairs of whole dialogues."""

    train: TrainSettings
    pairs: PairSettings = PairSettings()
    token_weights: WeightRule = "sum"
    max_length: Count = 16_384
    """Maximum number of tokens; a pair with a longer dialogue is left out. Paper."""


class Mtdpo(Method):
    """The baseline that learns from pairs of whole dialogues."""

    name = "mtdpo"
    tables: ClassVar[Mapping[str, type[Struct]]] = {"mtdpo": MtdpoSettings}
    goals: ClassVar[Mapping[str, str]] = {
        "mtdpo": "train the baseline by DPO on pairs of whole dialogues, and export it"
    }

    def paper(self, table: str, domain: str, train: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the paper's settings for the epochs and the pairs."""
        return {"train": {"epochs": paper_epochs(domain)}, "pairs": PAPER_PAIRS.get(domain, {})}

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the stage that exports the policy."""
        return [iteration.exported(trained(iteration))]


def trained(iteration: Iteration) -> Stage:
    """Return the stage that trains the policy."""
    table = iteration.recipe.table(MtdpoSettings)
    made = iteration.examples(
        "mtdpo",
        paired,
        iteration.truncated,
        pairs=table.pairs,
        token_weights=table.token_weights,
        max_length=table.max_length,
    )
    return iteration.training("mtdpo", table.train, made, reference=True)
