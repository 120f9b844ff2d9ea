"""Training on pairs: our trainer beside TRL's `DPOTrainer`, and without each of its savings.

    python tests/benchmarks/bench_trainer.py [--rounds 3] [--batch 2] [--shortest 300] [--longest 1200] …

A small Llama with random weights and a vocabulary of 128,256, pairs of dialogues of several turns, float32 on the CPU.
Before anything is measured, both train a tiny model for six steps; it is an error if a loss or the norm of a gradient
is not the same. Then each contestant runs in a process of its own. Ours and TRL at its best take turns, and the median
of the rounds counts, with the range behind it; the others run once.

Tokens per second are the pairs' own, padding not counted, in the optimiser steps after the first. Memory is the peak
of the process (ru_maxrss) until the last step is done, reference log-probabilities included; "above the model" is what
comes on top of libraries, data and model. All recompute activations, and have the same optimiser and schedule.
TRL's best: reference log-probabilities computed beforehand, micro-batches of one pair, which has the least padding and
memory. `padding_free` is without effect in TRL 1.16, and DPO has no packing. TRL's default is all pairs of a device at
once (8), a second model beside the first, and sequences cut at 1,024 tokens, which would not be the same task.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from typing import Any

from msgspec import structs
from trainers import Contestant, Job, Measured, in_child

TINY = Job(
    vocabulary=500,
    hidden=64,
    intermediate=128,
    layers=2,
    heads=4,
    shortest=40,
    longest=160,
    steps=6,
    epochs=6,
    batch=4,
    learning_rate=3e-3,
)
TOLERANCE = 1e-3
SMALL = ("hidden", "intermediate", "layers", "heads", "shortest", "longest", "batch", "steps")


def contestants(batch: int) -> tuple[dict[str, Contestant], dict[str, Contestant]]:
    """Those that are compared, of which the first is ours, and those that run once."""
    ours = Contestant(trainer="ours", share=True, rows=16_384)
    trl = Contestant(trainer="trl")
    compared = {
        "**ours**": ours,
        "TRL, 1 pair at a time": trl,
    }
    once = {
        f"TRL, all {batch} pairs at once": structs.replace(trl, micro=batch),
        f"TRL, all {batch} pairs at once, second model": structs.replace(
            trl, micro=batch, precompute=False
        ),
        "TRL, 1 pair at a time, only what counts (patched)": structs.replace(trl, compact=True),
        "ours, beginnings not shared": structs.replace(ours, share=False),
        "ours, a row for each pair": structs.replace(ours, rows=1),
        "ours, logits of all positions": structs.replace(ours, full_logits=True),
    }
    return compared, once


def check() -> None:
    """Raise SystemExit unless both trainers have the same losses and gradients, step by step."""
    ours, *others = (
        Contestant(trainer="ours", share=True, rows=512),
        Contestant(trainer="trl"),
        Contestant(trainer="trl", micro=4, precompute=False),
    )
    expected = in_child(TINY, ours)
    for other in others:
        found = in_child(TINY, other)
        for ours_, theirs in ((expected.losses, found.losses), (expected.norms, found.norms)):
            pairs = zip(ours_, theirs, strict=True)
            if any(abs(x - y) > TOLERANCE * max(1, abs(x)) for x, y in pairs):
                raise SystemExit(f"not the same: ours {ours_}, TRL {theirs} ({other})")
    print(f"same losses as TRL's: {', '.join(f'{loss:.4f}' for loss in expected.losses)}\n")


def main() -> None:
    """Check, measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-once", action="store_true", help="only what is compared")
    usual = Job(shortest=300, longest=1200, batch=2, steps=2)
    for name in SMALL:
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    given = parser.parse_args()
    job = structs.replace(usual, **{name: getattr(given, name) for name in SMALL})
    check()
    compared, once = contestants(job.batch)
    found: dict[str, list[Measured]] = {name: [] for name in {**compared, **once}}
    print(f"load before: {os.getloadavg()[0]:.1f}")
    for number in range(given.rounds):
        several = compared if number or given.without_once else {**compared, **once}
        for name, contestant in several.items():
            print(f"round {number + 1}: {name}", file=sys.stderr)
            found[name].append(in_child(job, contestant))
    print(f"load after: {os.getloadavg()[0]:.1f}; {job}\n")
    _print({name: each for name, each in found.items() if each})


def _print(found: dict[str, list[Measured]]) -> None:
    ours = next(iter(found.values()))
    print("| | tokens/s | | tokens a second of CPU | above the model, GB | | whole peak, GB | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, runs in found.items():
        cells = [name]
        for key in ("rate", "cpu_rate", "above", "peak"):
            unit = 1e9 if key in ("above", "peak") else 1
            values = [getattr(each, key) / unit for each in runs]
            cells.append(_range(values))
            if key != "cpu_rate":
                base = statistics.median(getattr(each, key) / unit for each in ours)
                cells.append(f"{statistics.median(values) / base:.2f} x")
        print(f"| {' | '.join(cells)} |")


def _range(values: list[float]) -> str:
    middle: Any = statistics.median(values)
    digits = 2 if middle < 100 else 0
    text = f"{middle:.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
    return text


if __name__ == "__main__":
    main()
