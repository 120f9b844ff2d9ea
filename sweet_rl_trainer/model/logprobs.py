"""Log-probabilities of given tokens at given positions, with little memory for logits.

`token_logprobs` runs a transformers causal language model. During the call, the model's output layer returns
log-probabilities instead of logits, so all hooks of wrappers run (tested: PEFT, DDP, FSDP2). `select_logprobs` computes
them from the given positions, one chunk at a time. It keeps only one log-sum-exp per position, and the backward pass
computes a chunk's logits again. So the logits need the memory of one chunk, `CHUNK_BYTES`, instead of several copies of
[positions, vocabulary].

Matrix products have the precision of the weights (or of autocast); log-sum-exp and sums over chunks are in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from colbench.errors import UserError

CHUNK_BYTES = 2**28
"""Maximum size in bytes of the float32 logits of a chunk.

The number of positions in a chunk is the largest power of two that fits.
"""


def token_logprobs(
    model: nn.Module, inputs: Mapping[str, Any], predictors: Tensor, targets: Tensor
) -> Tensor:
    """Return, for each i, log π(targets[i]) as predicted at position predictors[i] of the flattened batch.

    The result is [N] in float32.

    `inputs` are the model's inputs (`input_ids` and so on). See `check_head` for the supported models.
    """
    with _gives_logprobs(output_layer(model), predictors, targets):
        logprobs: Tensor = model(**inputs, use_cache=False).logits
    return logprobs.float()


def token_statistics(
    model: nn.Module, inputs: Mapping[str, Any], predictors: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the output of `token_logprobs`, and the entropies of the same predictions: [N] each, without gradients."""
    with torch.no_grad(), _gives_logprobs(output_layer(model), predictors, targets, entropy=True):
        found: Tensor = model(**inputs, use_cache=False).logits
    logprobs, entropies = found.float()
    return logprobs, entropies


def select_logprobs(
    hidden: Tensor, weight: Tensor, targets: Tensor, chunk: int | None = None
) -> Tensor:
    """Return log_softmax(hidden @ weight.T)[i, targets[i]] in float32.

    `hidden` is [N, H], `weight` [V, H], `targets` and the result [N]. `chunk` is the number of positions at a time; the
    default is as many as fit in `CHUNK_BYTES`.
    """
    dtype, chunk = _dtype(hidden, weight), chunk or _chunk(weight)
    with torch.autocast(hidden.device.type, enabled=False):
        selected: Tensor = _Selected.apply(hidden.to(dtype), weight, targets, chunk)
    return selected


def select_entropies(hidden: Tensor, weight: Tensor, chunk: int | None = None) -> Tensor:
    """Return the entropy of each row of softmax(hidden @ weight.T), in nats: [N] in float32, without gradients."""
    chunk = chunk or _chunk(weight)
    found = hidden.new_empty(len(hidden), dtype=torch.float32)
    with torch.no_grad(), torch.autocast(hidden.device.type, enabled=False):
        for part, logits in _Chunks(hidden.to(_dtype(hidden, weight)), weight, chunk):
            logprobs = logits.log_softmax(-1)
            found[part] = -(logprobs.exp() * logprobs).sum(-1)
    return found


def _dtype(hidden: Tensor, weight: Tensor) -> torch.dtype:
    """Return the precision of hidden @ weight.T: autocast's precision if autocast is enabled, else the weight's."""
    kind = hidden.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype


def _chunk(weight: Tensor) -> int:
    return 1 << max(0, (CHUNK_BYTES // (4 * len(weight))).bit_length() - 1)


class _Selected(torch.autograd.Function):
    """The autograd function of `select_logprobs`; the matrix products have the precision of `hidden`."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, chunk: int) -> Tensor:
        chunks = _Chunks(hidden, weight, chunk)
        selected = hidden.new_empty(len(hidden), dtype=torch.float32)
        normalizers = torch.empty_like(selected)
        for part, logits in chunks:
            selected[part] = logits.gather(-1, targets[part, None])[:, 0]
            highest = logits.amax(-1, keepdim=True)
            normalizers[part] = logits.sub_(highest).exp_().sum(-1).log_().add_(highest[:, 0])
        ctx.save_for_backward(hidden, weight, targets, normalizers)
        ctx.chunk = chunk
        return selected.sub_(normalizers)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        """Compute the gradients: d log softmax(z)[y] / dz = onehot(y) − softmax(z)."""
        hidden, weight, targets, normalizers = ctx.saved_tensors
        chunks = _Chunks(hidden, weight, ctx.chunk)
        to_hidden = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        to_weight = (
            torch.zeros_like(weight, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        )
        for part, logits in chunks:
            wide = logits.sub_(normalizers[part, None]).exp_().mul_(-slopes[part, None])
            wide.scatter_add_(-1, targets[part, None], slopes[part, None])
            back = chunks.narrow(wide)
            if to_hidden is not None:
                torch.mm(back, chunks.head, out=to_hidden[part])
            if to_weight is not None:
                _add_product(to_weight, back.T, hidden[part])
        return to_hidden, None if to_weight is None else to_weight.to(weight.dtype), None, None


class _Chunks:
    """An iterator over the logits in float32, one chunk of positions at a time; all chunks use the same memory."""

    def __init__(self, hidden: Tensor, weight: Tensor, chunk: int) -> None:
        self.head = weight.to(hidden.dtype)
        self._hidden = hidden
        self._product = hidden.new_empty(min(chunk, len(hidden)), len(weight))
        self._wide = self._product
        if hidden.dtype != torch.float32:
            self._wide = torch.empty_like(self._product, dtype=torch.float32)

    def __iter__(self) -> Iterator[tuple[slice, Tensor]]:
        count, chunk = len(self._hidden), len(self._product)
        for start in range(0, count, max(1, chunk)):
            part = slice(start, min(start + chunk, count))
            product = self._product[: part.stop - start]
            torch.mm(self._hidden[part], self.head.T, out=product)
            yield part, self._widen(product)

    def _widen(self, product: Tensor) -> Tensor:
        if self._wide is self._product:
            return product
        return self._wide[: len(product)].copy_(product)

    def narrow(self, wide: Tensor) -> Tensor:
        """Return `wide` in the hidden states' dtype.

        If this dtype is not float32, the result overwrites the chunk's products.
        """
        if self._wide is self._product:
            return wide
        return self._product[: len(wide)].copy_(wide)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def output_layer(model: nn.Module) -> nn.Linear:
    """Return the layer that computes logits from hidden states; the model may be wrapped.

    Raises UserError if it is not a plain linear layer, or if it has a bias, an adapter or quantized weights.
    """
    from accelerate.utils import extract_model_from_parallel

    bare: Any = extract_model_from_parallel(model)
    head = bare.get_output_embeddings()
    if isinstance(head, nn.Linear) and head.bias is None and torch.is_floating_point(head.weight):
        return head
    raise UserError(
        f"the output layer of {_name(bare)} is {head}: log-probabilities require a linear output "
        "layer without bias, adapter or quantized weights; do not adapt or quantize the layer, or use another model"
    )


def check_head(model: nn.Module) -> None:
    """Raise UserError if the model changes the last hidden states before its output layer, or the logits after it.

    Raises UserError also if the hidden states are not finite. The check runs a few tokens and replaces the output of
    the output layer by known numbers. So it detects every soft cap, scale or multiplier, regardless of the name in the
    configuration.
    """
    head = output_layer(model)
    seen: list[Tensor] = []

    def replace(_: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        known = torch.linspace(-100, 100, output.shape[-1], device=output.device)
        seen.extend((inputs[0], known.to(output.dtype).expand_as(output)))
        return seen[1]

    handle = head.register_forward_hook(replace)
    try:
        ids = torch.arange(8, device=head.weight.device)[None]
        with torch.no_grad():
            result = model(input_ids=ids, use_cache=False, output_hidden_states=True)
    finally:
        handle.remove()
    if not seen[0].isfinite().all():
        raise UserError(
            f"{_name(model)}: the model's hidden states are not finite; its weights may be damaged"
        )
    same = torch.equal(result.logits.float(), seen[1].float())
    if not same or not torch.equal(result.hidden_states[-1].float(), seen[0].float()):
        raise UserError(
            f"{_name(model)} scales or caps its logits or its last hidden states, so "
            "its log-probabilities would be wrong; use another model"
        )


def _name(model: nn.Module) -> str:
    config = getattr(model, "config", None)
    return getattr(config, "model_type", "") or type(model).__name__


@contextmanager
def _gives_logprobs(
    head: nn.Linear, predictors: Tensor, targets: Tensor, *, entropy: bool = False
) -> Iterator[None]:
    """Make `head` return the targets' log-probabilities, [N].

    With `entropy`, `head` returns the log-probabilities and the entropies, [2, N].
    """
    before = vars(head).get("forward")
    forward = _forward_statistics if entropy else _forward
    head.forward = partial(forward, head, predictors, targets)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del head.forward
        if before is not None:
            head.forward = before  # type: ignore[method-assign]


def _forward(head: nn.Linear, predictors: Tensor, targets: Tensor, hidden: Tensor) -> Tensor:
    flat = hidden.reshape(-1, hidden.shape[-1])
    return select_logprobs(flat.index_select(0, predictors), head.weight, targets)


def _forward_statistics(
    head: nn.Linear, predictors: Tensor, targets: Tensor, hidden: Tensor
) -> Tensor:
    logprobs = _forward(head, predictors, targets, hidden)
    flat = hidden.reshape(-1, hidden.shape[-1]).index_select(0, predictors)
    return torch.stack([logprobs, select_entropies(flat, head.weight)])
