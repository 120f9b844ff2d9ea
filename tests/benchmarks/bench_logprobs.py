"""Log-probabilities of given tokens, forward and backward: from full logits, and in chunks.

    python tests/benchmarks/bench_logprobs.py [--tokens 4096] [--vocabulary 128256] [--hidden 256] [--rounds 3]

From the last hidden states and the weights of an output layer, in float32 on the CPU. Each side runs in a process
of its own, which says its peak memory (ru_maxrss) above what it had before it began; the sides take turns, the median
of the rounds counts. "Weighted" is the share of the positions that a loss is about; full logits are of all.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Side = Callable[[Any, Any, Any, Any], Any]


def log_softmax(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """All logits, their log_softmax, what is asked for of it."""
    return (hidden @ weight.T).log_softmax(-1).gather(-1, targets[:, None])[places, 0]


def log_sum_exp(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """All logits, what is asked for of them less their log-sum-exp."""
    logits = hidden @ weight.T
    return (logits.gather(-1, targets[:, None])[:, 0] - logits.logsumexp(-1))[places]


def chunked(hidden: Any, weight: Any, targets: Any, places: Any) -> Any:
    """As the trainer does it."""
    from sweet_rl_trainer.model.logprobs import select_logprobs

    return select_logprobs(hidden.index_select(0, places), weight, targets[places])


SIDES: dict[str, tuple[Side, float]] = {
    "full logits, log_softmax": (log_softmax, 1.0),
    "full logits, log-sum-exp": (log_sum_exp, 1.0),
    "chunked": (chunked, 1.0),
    "chunked, a third weighted": (chunked, 1 / 3),
}


def measure(name: str, tokens: int, vocabulary: int, hidden_size: int) -> dict[str, float]:
    """Seconds, seconds of CPU and GB of one pass forward and backward, and a sum to compare results by."""
    import torch

    side, share = SIDES[name]
    torch.manual_seed(0)
    hidden = torch.randn(tokens, hidden_size, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(vocabulary, hidden_size) / 16)
    targets = torch.randint(vocabulary, (tokens,))
    places = torch.arange(0, tokens, round(1 / share))
    side(hidden[:8], weight, targets[:8], places[places < 8]).sum().backward()
    hidden.grad = None
    before = _peak()
    start, cpu = time.perf_counter(), time.process_time()
    values = side(hidden, weight, targets, places)
    values.mean().backward()
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "gb": (_peak() - before) / 1e9,
        "mean": values.mean().item(),
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure all sides in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=128_256)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(measure(given.side, given.tokens, given.vocabulary, given.hidden)))
        return
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in SIDES}
    for _ in range(given.rounds):
        for name, found in rounds.items():
            run = subprocess.run(
                [sys.executable, *sys.argv, "--side", name], check=True, stdout=subprocess.PIPE
            )
            found.append(json.loads(run.stdout))
    print("| way | GB | s | s of CPU | mean log-probability |\n|---|---|---|---|---|")
    for name, found in rounds.items():
        gb, seconds, cpu, mean = (
            statistics.median(each[key] for each in found)
            for key in ("gb", "seconds", "cpu", "mean")
        )
        print(f"| {name} | {gb:.2f} | {seconds:.1f} | {cpu:.1f} | {mean:.5f} |")


if __name__ == "__main__":
    main()
