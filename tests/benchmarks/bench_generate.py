"""Dialogues in this process: replies by `sweet_rl_trainer.model.generate` beside transformers' own `generate`.

    python tests/benchmarks/bench_generate.py [--rounds 3] [--dialogues 64] [--turns 5] …

A Llama of 2 million random weights, float32 on the CPU, and many dialogues at once: each prompt is the one before with
the reply to it and 20 more tokens. Any of 40 tokens of 1,024 ends a reply, so some are short and few are long, as where
an agent asks and answers. It is an error if a greedy reply is not the same. Then contestants take turns on the same
prompts; the median of the rounds counts, with the range behind it.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from sweet_rl_trainer.model.generate import generate
from sweet_rl_trainer.model.kv_cache import Prefixes

VOCABULARY, ENDS, LONGEST, HEARD = 1024, list(range(0, 1000, 25)), 130, 20
Prompts = list[list[int]]
Replier = Callable[[Prompts, float], Prompts]


def main() -> None:
    """Check, measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, usual in (("rounds", 3), ("dialogues", 64), ("turns", 5)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=4,
            num_attention_heads=4,
            vocab_size=VOCABULARY,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
        )
    ).eval()
    check(model)
    seconds: dict[str, list[float]] = {}
    print(f"load before: {os.getloadavg()[0]:.1f}")
    for number in range(given.rounds):
        for name, found in measured(model, number, given.dialogues, given.turns).items():
            seconds.setdefault(name, []).append(found)
    print(f"load after: {os.getloadavg()[0]:.1f}; {given}\n")
    print_table(seconds)


def contestants(model: Any) -> dict[str, Replier]:
    """The ways to reply; those that hold what they have read begin with nothing."""
    prefixes = Prefixes(32_768)

    def ours(prompts: Prompts, temperature: float, held: Prefixes | None = prefixes) -> Prompts:
        return generate(
            model,
            prompts,
            list(range(len(prompts))),
            ends=ENDS,
            temperature=temperature,
            max_tokens=LONGEST,
            prefixes=held,
        )

    return {
        "**ours**": ours,
        "ours, each turn read anew": lambda prompts, temperature: ours(prompts, temperature, None),
        "transformers": lambda prompts, temperature: theirs(model, prompts, temperature),
    }


def theirs(model: Any, prompts: Prompts, temperature: float) -> Prompts:
    """By `model.generate`, filled up on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(each)) + each for each in prompts])
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
    sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {}
    said = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=LONGEST,
        eos_token_id=ENDS,
        pad_token_id=0,
        **sampling,
    )
    return [cut(reply) for reply in said[:, width:].tolist()]


def cut(reply: list[int]) -> list[int]:
    """Until the token that ends it."""
    end = next((place for place, token in enumerate(reply) if token in ENDS), len(reply) - 1)
    return reply[: end + 1]


def begun(count: int, seed: int) -> Prompts:
    """Requests."""
    chance = random.Random(seed)
    return [
        [chance.randrange(VOCABULARY) for _ in range(chance.randint(120, 200))]
        for _ in range(count)
    ]


def check(model: Any) -> None:
    """Raise SystemExit unless all have the same greedy replies."""
    prompts = begun(8, 1)
    replies = [reply(prompts, 0.0) for reply in contestants(model).values()]
    if any(each != replies[0] for each in replies):
        raise SystemExit(f"not the same: {replies}")


def measured(model: Any, seed: int, dialogues: int, turns: int) -> dict[str, float]:
    """Seconds that each took for all turns; the first one's replies lead to the next prompts of all."""
    prompts, chance = begun(dialogues, seed), random.Random(seed)
    seconds: dict[str, float] = {}
    ways = contestants(model)
    for _ in range(turns):
        replies: Prompts = []
        for name, reply in ways.items():
            since = time.perf_counter()
            said = reply(prompts, 1.0)
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - since
            replies = replies or said
        prompts = [
            [*prompt, *said, *(chance.randrange(VOCABULARY) for _ in range(HEARD))]
            for prompt, said in zip(prompts, replies, strict=True)
        ]
    return seconds


def print_table(seconds: dict[str, list[float]]) -> None:
    """As Markdown; the first one's median is 1."""
    base = statistics.median(next(iter(seconds.values())))
    print("| | wall | |\n|---|---|---|")
    for name, found in seconds.items():
        middle = statistics.median(found)
        print(
            f"| {name} | {middle:.1f} s ({min(found):.1f} to {max(found):.1f}) | {middle / base:.2f} x |"
        )


if __name__ == "__main__":
    main()
