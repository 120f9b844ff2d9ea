"""Training on pairs of 8k tokens a side on a GPU, at the shape of Llama 3.1 8B: our trainer beside TRL's `DPOTrainer`.

    python tests/benchmarks/bench_trainer_gpu.py [--full] [--optimizer paged_adamw_8bit] [--attention flash_attention_2]
    python tests/benchmarks/bench_trainer_gpu.py --tiny        (on the CPU: shows that it runs, and nothing else)

Weights are random, so nothing is downloaded. LoRA adapts a bfloat16 model; `--full` trains all weights, kept in float32
(32 GB, as much again for gradients, 16 GB for an 8-bit optimiser). Each contestant has a process of its own; one that
fails, for want of memory or else, is named and the rest goes on. Memory is torch.cuda.max_memory_allocated.

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

import argparse
import subprocess
from typing import Any

from msgspec import structs
from trainers import Contestant, Job, Measured, in_child, in_order

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
    """That the pairs of the steps after the first need; see above."""
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
    """The name of the GPU and its FLOPs per second, if known."""
    import torch

    if not torch.cuda.is_available():
        return "no GPU", None
    name = torch.cuda.get_device_name()
    return name, next((1e12 * peak for key, peak in TERAFLOPS.items() if key in name), None)


def main() -> None:
    """Measure all and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="train all weights instead of LoRA")
    parser.add_argument("--optimizer", default=LLAMA.optimizer)
    parser.add_argument("--attention", default=LLAMA.attention)
    parser.add_argument("--peak", type=float, help="of the device, TFLOPs per second in bfloat16")
    parser.add_argument("--steps", type=int, default=LLAMA.steps)
    parser.add_argument("--tiny", action="store_true", help="a tiny shape on the CPU")
    given: Any = parser.parse_args()
    name, peak = device_peak()
    peak = given.peak * 1e12 if given.peak else peak
    if not given.tiny and name == "no GPU":
        raise SystemExit("no GPU is at hand; --tiny runs a tiny shape on the CPU")
    job = structs.replace(
        TINY if given.tiny else LLAMA,
        lora=not given.full,
        optimizer=given.optimizer,
        attention=given.attention,
        steps=given.steps,
    )
    print(f"{name}; {job}\n")
    print(
        "| | tokens/s | FLOP utilisation | above the model, GB | peak, GB |\n|---|---|---|---|---|"
    )
    work = flops(job)
    for label, contestant in CONTESTANTS.items():
        fitting = structs.replace(contestant, micro=min(contestant.micro, job.batch))
        print(f"| {label} | {_cells(job, fitting, work, peak)} |", flush=True)


def _cells(job: Job, contestant: Contestant, work: float, peak: float | None) -> str:
    try:
        found: Measured = in_child(job, contestant)
    except subprocess.CalledProcessError as cause:
        return f"failed ({cause.returncode}; see above) | | | "
    used = f"{work / found.seconds / peak:.0%}" if peak else "?"
    return f"{found.rate:.0f} | {used} | {found.above / 1e9:.2f} | {found.peak / 1e9:.2f}"


if __name__ == "__main__":
    main()
