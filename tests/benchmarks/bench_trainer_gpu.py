"""Training on pairs of long dialogues on a GPU, with the shape of Llama 3.1 8B: our trainer and TRL's `DPOTrainer`.

    python tests/benchmarks/bench_trainer_gpu.py [--full] [--optimizer paged_adamw_8bit] [--attention flash_attention_2]
    python tests/benchmarks/bench_trainer_gpu.py --tiny        (on the CPU: shows only that the script runs)

Each side of a pair has 4,096 to 8,192 tokens. Weights are random, so that nothing is downloaded. LoRA adapts a bfloat16
model. `--full` trains all weights, which are kept in float32 (32 GB, another 32 GB for gradients, and 16 GB for an
8-bit optimizer). Each contestant has its own process. If it fails, for example for lack of memory, its name is printed
and it is left out. Memory is torch.cuda.max_memory_allocated.

Model FLOP utilization is the minimum number of FLOPs that the pairs need, per second, divided by the device's peak. The
pairs need:

    layers         k · N_layers · (tokens)
    attention      6 · layers · heads · head size · Σ length²       (causal: half the square, 2 + 4 products of 2 FLOPs)
    output layer   k · hidden size · vocabulary · (tokens with a loss)

N_layers is the number of weights in all layers. If all weights are trained, k = 6 (2 forward, 2 for the gradient of the
inputs, 2 for the gradient of the weights). With LoRA, whose adapters are not counted, k = 4. Padding, recomputed
activations and unused logits are not counted either. Both sides of a pair count in full, so the utilization may be too
high if beginnings are shared. The device's peak is NVIDIA's value for dense bfloat16, from the table below, or the
value of `--peak`.
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
"""Peak TFLOPs per second in dense bfloat16, by a part of the device's name; the first match is used."""

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
    """Return the FLOPs that the pairs of the steps after the first need; see the formulas above."""
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
    """Return the name of the GPU ("no GPU" without one) and its peak in FLOPs per second (None if unknown)."""
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
    parser.add_argument(
        "--peak", type=float, help="peak of the device in TFLOPs per second, bfloat16"
    )
    parser.add_argument("--steps", type=int, default=LLAMA.steps)
    parser.add_argument("--tiny", action="store_true", help="use a tiny shape on the CPU")


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
            ("tokens per second", "higher"),
            ("memory beyond the model", "lower"),
        )
    ],
    options=options,
    needs=missing,
)
def trainer_gpu(given: Namespace) -> Iterator[Round]:
    """Measure the contestants in turn; leave out a contestant that fails."""
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
            found[f"{name}: tokens per second"] = Quantity(result.rate, "")
            found[f"{name}: memory beyond the model"] = Quantity(result.above / 1e9, "GB")
            found[f"{name}: peak memory"] = Quantity(result.peak / 1e9, "GB")
            if peak:
                used = 100 * work / result.seconds / peak
                found[f"{name}: FLOP utilization"] = Quantity(used, "%")
        yield found


if __name__ == "__main__":
    main(trainer_gpu)
