"""Training on pairs: our trainer, TRL's `DPOTrainer`, and our trainer without each of its optimizations.

    python tests/benchmarks/bench_trainer.py [--rounds 3] [--without-once] [--batch 2] [--longest 1200] …

The model is a small Llama with random weights and a vocabulary of 128,256. It trains on pairs of dialogues with several
turns, in float32 on the CPU. Before the measurement, both trainers train a tiny model for six steps; a different loss
or gradient norm is an error. Then each contestant runs in its own process, in one thread. Ours and TRL's best variant
take turns in all rounds; the others run only in the first round.

Tokens per second are the tokens of the pairs, without padding, in the optimizer steps after the first. Memory is the
peak of the process (ru_maxrss) until the last step is done, including reference log-probabilities. "Memory beyond the
model" excludes libraries, data and model. All contestants recompute activations, and have the same optimizer and
schedule.

TRL's best variant computes the reference log-probabilities beforehand. Its micro-batches are single pairs, which need
the least padding and memory. `padding_free` has no effect in TRL 1.16, and DPO has no packing. By default, TRL takes
all pairs of a device at once (8), holds a second model next to the first, and cuts sequences at 1,024 tokens. The cut
would make it a different task.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.util import find_spec

from bench import benchmark, main
from msgspec import structs
from records import Quantity, Ratio, Round
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
OURS, TRL = "ours", "TRL, 1 pair at a time"
USUAL = Job(shortest=300, longest=1200, batch=2, steps=2)
JOB_OPTIONS = ("hidden", "intermediate", "layers", "heads", "shortest", "longest", "batch", "steps")


def contestants(batch: int) -> tuple[dict[str, Contestant], dict[str, Contestant]]:
    """Return the contestants that are compared in all rounds, ours first, and those that run once."""
    ours = Contestant(trainer="ours", share=True, rows=16_384)
    trl = Contestant(trainer="trl")
    compared = {
        OURS: ours,
        TRL: trl,
    }
    once = {
        f"TRL, {batch} pairs at once": structs.replace(trl, micro=batch),
        f"TRL, {batch} pairs at once, second model": structs.replace(
            trl, micro=batch, precompute=False
        ),
        "TRL, 1 pair at a time, patched to compute only the needed logits": structs.replace(
            trl, compact=True
        ),
        "ours, beginnings not shared": structs.replace(ours, share=False),
        "ours, a row for each pair": structs.replace(ours, rows=1),
        "ours, logits of all positions": structs.replace(ours, full_logits=True),
    }
    return compared, once


def check() -> None:
    """Raise SystemExit unless both trainers have the same loss and gradient norm at each step."""
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
                raise SystemExit(f"losses or norms differ: ours {ours_}, TRL {theirs} ({other})")


def quantities(name: str, found: Measured) -> Round:
    return {
        f"{name}: tokens per CPU second": Quantity(found.cpu_rate, ""),
        f"{name}: tokens per second": Quantity(found.rate, ""),
        f"{name}: memory beyond the model": Quantity(found.above / 1e9, "GB"),
        f"{name}: peak memory": Quantity(found.peak / 1e9, "GB"),
    }


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--without-once", action="store_true", help="leave out the contestants that run once"
    )
    for name in JOB_OPTIONS:
        parser.add_argument(f"--{name}", type=int, default=getattr(USUAL, name))


def missing(_: Namespace) -> str:
    return "" if find_spec("trl") else "TRL is not installed: pip install trl"


@benchmark(
    "trainer",
    ratios=[
        Ratio(f"ours / TRL, {quantity}", f"{OURS}: {quantity}", f"{TRL}: {quantity}", better, goal)
        for quantity, better, goal in (
            ("tokens per CPU second", "higher", 1.5),
            ("memory beyond the model", "lower", 0.5),
            ("peak memory", "lower", 0.5),
        )
    ],
    options=options,
    needs=missing,
)
def trainer(given: Namespace) -> Iterator[Round]:
    """Check that both trainers compute the same, then measure."""
    job = structs.replace(USUAL, **{name: getattr(given, name) for name in JOB_OPTIONS})
    check()
    compared, once = contestants(job.batch)
    for number in range(given.rounds):
        found: Round = {}
        several = compared if number or given.without_once else compared | once
        for name, contestant in several.items():
            found |= quantities(name, in_child(job, contestant))
        yield found


if __name__ == "__main__":
    main(trainer)
