"""Log-probabilities of given tokens, with forward and backward pass: from full logits, and in chunks.

    python tests/benchmarks/bench_logprobs.py [--tokens 4096] [--vocabulary 128256] [--hidden 256]

The log-probabilities are computed from the last hidden states and the weights of an output layer, in float32 on the
CPU. Each side runs in its own process, and the sides take turns. The memory of a side is the peak memory of its process
(ru_maxrss) minus the peak before the side began. "A third of the tokens weighted" means that the loss uses only every
third position. Full logits are computed for all positions.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from typing import Any

from bench import benchmark, main
from records import Quantity, Ratio, Round
from usage import in_fresh_process, now, peak_gb

Side = Callable[[Any, Any, Any, Any], Any]


def log_softmax(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """Compute all logits and their log_softmax, and return the requested values."""
    return (hidden @ weight.T).log_softmax(-1).gather(-1, targets[:, None])[places, 0]


def log_sum_exp(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """Compute all logits, and return the requested ones minus their log-sum-exp."""
    logits = hidden @ weight.T
    return (logits.gather(-1, targets[:, None])[:, 0] - logits.logsumexp(-1))[places]


def chunked(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """Compute the log-probabilities as the trainer does."""
    from sweet_rl_trainer.model.logprobs import select_logprobs

    return select_logprobs(hidden.index_select(0, places), weight, targets[places])


FULL, CHUNKED = "full logits, log_softmax", "in chunks, recomputed in the backward pass"
SIDES: dict[str, tuple[Side, float]] = {
    FULL: (log_softmax, 1.0),
    "full logits, log-sum-exp": (log_sum_exp, 1.0),
    CHUNKED: (chunked, 1.0),
    "in chunks, a third of the tokens weighted": (chunked, 1 / 3),
}


def measure(name: str, tokens: int, vocabulary: int, hidden_size: int) -> Round:
    """Return memory and CPU time of one forward and backward pass, and a mean by which results can be compared."""
    import torch

    side, share = SIDES[name]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    hidden = torch.randn(tokens, hidden_size, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(vocabulary, hidden_size) / 16)
    targets = torch.randint(vocabulary, (tokens,))
    places = torch.arange(0, tokens, round(1 / share))
    side(hidden[:8], weight, targets[:8], places[places < 8]).sum().backward()
    hidden.grad = None
    memory, before = peak_gb(), now()
    values = side(hidden, weight, targets, places)
    values.mean().backward()
    spent = now() - before
    return {
        f"{name}: memory": Quantity(peak_gb() - memory, "GB"),
        f"{name}: CPU": Quantity(spent.own, "s"),
        f"{name}: mean log-probability": Quantity(values.mean().item(), ""),
    }


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=128_256)
    parser.add_argument("--hidden", type=int, default=256)


@benchmark(
    "logprobs",
    ratios=[
        Ratio(f"in chunks / full logits, {each}", f"{CHUNKED}: {each}", f"{FULL}: {each}")
        for each in ("memory", "CPU")
    ],
    options=options,
)
def logprobs(given: Namespace) -> Iterator[Round]:
    """Measure all sides in turn."""
    for _ in range(given.rounds):
        found: Round = {}
        for name in SIDES:
            found |= in_fresh_process(measure, name, given.tokens, given.vocabulary, given.hidden)
        yield found


if __name__ == "__main__":
    main(logprobs)
