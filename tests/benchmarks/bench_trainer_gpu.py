"""Training on pairs of 8k tokens a side on a GPU, at the shape of Llama 3.1 8B: our trainer and TRL's `DPOTrainer`.

    python tests/benchmarks/bench_trainer_gpu.py [--full] [--optimizer paged_adamw_8bit] [--attention flash_attention_2]
    python tests/benchmarks/bench_trainer_gpu.py --tiny        (on the CPU: shows that it runs, and nothing else)

Weights are random, so nothing is downloaded. LoRA adapts a bfloat16 model; `--full` trains all weights, kept in float32
(32 GB, as much again for gradients, 16 GB for an 8-bit optimiser). Each contestant has its own process; one that
fails, for want of memory or else, is named and left out. Memory is torch.cuda.max_memory_allocated.

Model FLOP utilisation is what the pairs need at least, a second, over what the device can do at most. What they need:

    layers      k · N_layers · (tokens)
    attention   6 · layers · heads · head size · Σ length²          (causal: half the square, 2 + 4 products of 2 FLOPs)
    head        k · hidden size · vocabulary · (tokens that count)

with k = 6 where weights are trained (2 forward, 2 for the gradient of the inputs, 2 for that of the weights), 4 with
LoRA, whose adapters are left out. Padding, recomputed activations and logits nobody asks for count nothing; both
sides of a pair count whole, so that with `share` the figure may flatter. The device's peak is NVIDIA's for dense
bfloat16, from the table below or `--peak`.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.util import find_spec

from bench import benchmark, main
from msgspec import structs
from records import Quantity, Ratio, Round
from trainers import Contestant, Job, in_child, in_order

TERAFLOPS = {
    "B200": 2250,
    "H200": 989,
    "H100 PCIe": 756,
    "H100": 989,
    "A100": 312,
    "L40S": 362,
    "RTX 4090": 165,
}
"""Dense bfloat16, by what the device's name holds; the first that fits."""

LLAMA = Job(
    hidden=4096,
    intermediate=14_336,
    layers=32,
    heads=32,
    kv_heads=8,
    tied=False,
    shortest=4096,
    longest=8192,
    batch=8,
    steps=3,
    precision="bfloat16",
    device="cuda",
)
TINY = Job(
    vocabulary=2000,
    hidden=64,
    intermediate=128,
    layers=2,
    heads=4,
    shortest=64,
    longest=128,
    precision="bfloat16",
)
CONTESTANTS = {
    "ours": Contestant(trainer="ours", rows=16_384),
    "ours, beginnings shared": Contestant(trainer="ours", rows=16_384, share=True),
    "TRL, micro-batches of 1 pair": Contestant(trainer="trl"),
    "TRL, all pairs": Contestant(trainer="trl", micro=8),
}


def flops(job: Job) -> float:
    """Return the FLOPs that the pairs of the steps after the first need; see above."""
    timed = in_order(job)[job.batch :]
    sides = [side for pair in timed for side in (pair.chosen, pair.rejected)]
    size = job.hidden // job.heads
    of_layer = job.hidden * (2 * job.hidden + 2 * job.kv_heads * size + 3 * job.intermediate)
    products = 4 if job.lora else 6
    return (
        products * job.layers * of_layer * sum(side.tokens for side in sides)
        + 6 * job.layers * job.hidden * sum(side.tokens**2 for side in sides)
        + products * job.hidden * job.vocabulary * sum(side.reply_tokens for side in sides)
    )


def device_peak() -> tuple[str, float | None]:
    """Return the name of the GPU and its FLOPs per second, if known."""
    import torch

    if not torch.cuda.is_available():
        return "no GPU", None
    name = torch.cuda.get_device_name()
    return name, next((1e12 * peak for key, peak in TERAFLOPS.items() if key in name), None)


OURS, SHARED, TRL, TRL_ALL = CONTESTANTS


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="train all weights instead of LoRA")
    parser.add_argument("--optimizer", default=LLAMA.optimizer)
    parser.add_argument("--attention", default=LLAMA.attention)
    parser.add_argument("--peak", type=float, help="of the device, TFLOPs per second in bfloat16")
    parser.add_argument("--steps", type=int, default=LLAMA.steps)
    parser.add_argument("--tiny", action="store_true", help="a tiny shape on the CPU")


def missing(given: Namespace) -> str:
    if find_spec("trl") is None:
        return "TRL is not installed: pip install trl"
    no_gpu = not given.tiny and device_peak()[0] == "no GPU"
    return "this machine has no GPU; --tiny runs a tiny shape on the CPU" * no_gpu


@benchmark(
    "trainer-gpu",
    ratios=[
        Ratio(f"ours / TRL, {quantity}", f"{OURS}: {quantity}", f"{TRL}: {quantity}", better)
        for quantity, better in (
            ("tokens a second", "higher"),
            ("memory beyond the model", "lower"),
        )
    ],
    options=options,
    needs=missing,
)
def trainer_gpu(given: Namespace) -> Iterator[Round]:
    """Have the contestants take turns; one that fails is left out."""
    peak = given.peak * 1e12 if given.peak else device_peak()[1]
    job = structs.replace(
        TINY if given.tiny else LLAMA,
        lora=not given.full,
        optimizer=given.optimizer,
        attention=given.attention,
        steps=given.steps,
    )
    work = flops(job)
    for _ in range(given.rounds):
        found: Round = {}
        for name, contestant in CONTESTANTS.items():
            fitting = structs.replace(contestant, micro=min(contestant.micro, job.batch))
            try:
                result = in_child(job, fitting)
            except subprocess.CalledProcessError as cause:
                print(f"{name}: failed with exit code {cause.returncode}", file=sys.stderr)
                continue
            found[f"{name}: tokens a second"] = Quantity(result.rate, "")
            found[f"{name}: memory beyond the model"] = Quantity(result.above / 1e9, "GB")
            found[f"{name}: peak memory"] = Quantity(result.peak / 1e9, "GB")
            if peak:
                used = 100 * work / result.seconds / peak
                found[f"{name}: FLOP utilisation"] = Quantity(used, "%")
        yield found


if __name__ == "__main__":
    main(trainer_gpu)
