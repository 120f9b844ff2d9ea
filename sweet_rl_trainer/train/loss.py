"""The shared objective of critic, actor and multi-turn DPO, and the objective of RFT.

    S(τ) = Σ_i w_i (log π_θ(x_i) − log π_ref(x_i))
    L    = −log σ(β (S(τ⁺) − S(τ⁻))) + λ · NLL(τ⁺)

S is the score of a trajectory τ, and w_i the weight of its token x_i (`token_weights.py`). `row_logprobs` returns
log π_θ of the weighted tokens in a packed row. From these, `scores` and `negative_log_likelihoods` compute a value for
each trajectory, and `pair_losses` computes the loss of each pair. The value baseline has `row_values` instead of
log-probabilities, and no reference or NLL. RFT's loss is the `negative_log_likelihoods` of successes.
Source: arXiv 2503.15478, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from torch import Tensor, nn
from torch.nn.functional import softplus

from sweet_rl_trainer.model.attention import model_inputs
from sweet_rl_trainer.model.logprobs import token_logprobs, token_statistics
from sweet_rl_trainer.model.packing import Row
from sweet_rl_trainer.model.vision import unpadded
from sweet_rl_trainer.settings import Score

Reader = Callable[[nn.Module, Any, Row], Tensor]
"""A function from a model, its configuration and a row to a number for each weighted token, [N] in float32."""


def row_logprobs(model: nn.Module, config: Any, row: Row) -> Tensor:
    """Return log π of a row's N target tokens, [N] in float32.

    `config` is the model's configuration; the model and the row must be on the same device.
    """
    return token_logprobs(model, model_inputs(row, config), row.predictors, row.targets)


def row_statistics(model: nn.Module, config: Any, row: Row) -> tuple[Tensor, Tensor]:
    """Return log π and the entropy at each of a row's N target tokens, [N] each, without gradients."""
    return token_statistics(model, model_inputs(row, config), row.predictors, row.targets)


def row_values(model: nn.Module, config: Any, row: Row) -> Tensor:
    """Return the values v of a row's N weighted tokens, [N] in float32; see `row_logprobs` for the arguments."""
    values: Tensor = model(**model_inputs(row, config), use_cache=False).logits[..., 0]
    return unpadded(row, values).index_select(0, row.places)


READERS: dict[Score, Reader] = {"log-ratio": row_logprobs, "value": row_values}
"""For each kind of score, the function that computes the score's summands."""


def scores(row: Row, values: Tensor, reference: Tensor | float) -> Tensor:
    """Return the score S of each trajectory, [count]: Σ w `values` − `reference`.

    `values` are log π_θ or v, [N]. `reference` is Σ w log π_ref of each trajectory, [count], or 0 for a value model.
    """
    return row.sums(row.token_weights * values) - reference


def negative_log_likelihoods(row: Row, logprobs: Tensor) -> Tensor:
    """Return −mean log π of the first trajectory of each imitated group, and 0 for the other trajectories, [count]."""
    return -row.sums(row.likelihood * logprobs)


def imitated(row: Row) -> Tensor:
    """Return True for each trajectory whose NLL is in the loss, [count]."""
    return row.sums(row.likelihood) > 0


class PairLosses(Struct, frozen=True, kw_only=True):
    """The losses of P pairs; each field has the shape [P].

    A step's loss is the mean of `losses` over all pairs of the step.
    """

    losses: Tensor
    """The loss L, with gradients."""
    preference: Tensor
    """−log σ(β(S⁺ − S⁻)); ln 2 while the model equals the reference."""
    likelihood: Tensor | None
    """NLL⁺, before the factor λ; None for value models."""
    chosen: Tensor
    """The reward βS⁺."""
    rejected: Tensor
    """The reward βS⁻."""

    def metrics(self) -> dict[str, Tensor]:
        """Return the values to log, each a tensor [P] without gradients; in `accuracy`, a tie counts as 1/2."""
        margin = self.chosen - self.rejected
        values = {
            "loss": self.losses,
            "preference": self.preference,
            "accuracy": (margin.sign() + 1) / 2,
            "margin": margin,
            "reward_chosen": self.chosen,
            "reward_rejected": self.rejected,
        }
        if self.likelihood is not None:
            values["nll"] = self.likelihood
        return {name: value.detach() for name, value in values.items()}


def pair_losses(
    scores: Tensor, likelihoods: Tensor | None, *, beta: float, likelihood_weight: float
) -> PairLosses:
    """Return the loss of each pair; scores are in the order chosen, rejected, chosen, rejected and so on.

    `likelihoods` are the `negative_log_likelihoods` in the same order, or None for a value model; the values of
    rejected sides are ignored. `likelihood_weight` is λ.
    """
    chosen, rejected = (beta * scores).view(-1, 2).unbind(1)
    losses = preference = softplus(rejected - chosen)
    likelihood = None if likelihoods is None else likelihoods[::2]
    if likelihood is not None and likelihood_weight:
        losses = preference + likelihood_weight * likelihood
    return PairLosses(
        losses=losses,
        preference=preference,
        likelihood=likelihood,
        chosen=chosen,
        rejected=rejected,
    )
