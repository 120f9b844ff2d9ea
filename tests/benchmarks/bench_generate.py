"""Replies in this process: `sweet_rl_trainer.model.generate`, compared with transformers' own `generate`.

    python tests/benchmarks/bench_generate.py [--rounds 3] [--dialogues 64] [--turns 5]

The model is a Llama with 2 million random weights, in float32 on the CPU. Many dialogues run at once. Each prompt
after the first consists of the previous prompt, the reply to it, and 20 more tokens. Any of 40 of the 1,024 tokens ends
a reply. Therefore some replies are short and few are long, like the questions and answers of an agent. First, the
greedy replies of all contestants are compared; a difference is an error. Then the contestants take turns on the same
prompts.
"""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bench import benchmark, main
from records import Quantity, Ratio, Round
from usage import Spent, now

if TYPE_CHECKING:
    from sweet_rl_trainer.model.kv_cache import Prefixes

VOCABULARY, ENDS, LONGEST, HEARD = 1024, list(range(0, 1000, 25)), 130, 20
Prompts = list[list[int]]
Replier = Callable[[Prompts, float], Prompts]
OURS, AGAIN, THEIRS = "ours", "ours, the dialogue read again at each turn", "transformers"


def random_model() -> Any:
    """Return a Llama with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval()


def contestants(model: Any) -> dict[str, Replier]:
    """Return the functions that reply, by name; each function that caches prefixes starts with an empty cache."""
    from sweet_rl_trainer.model.generate import generate
    from sweet_rl_trainer.model.kv_cache import Prefixes

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
        OURS: ours,
        AGAIN: lambda prompts, temperature: ours(prompts, temperature, None),
        THEIRS: lambda prompts, temperature: theirs(model, prompts, temperature),
    }


def theirs(model: Any, prompts: Prompts, temperature: float) -> Prompts:
    """Reply with `model.generate`; prompts are padded on the left."""
    import torch

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
    """Return a reply up to and including the token that ends it."""
    end = next((place for place, token in enumerate(reply) if token in ENDS), len(reply) - 1)
    return reply[: end + 1]


def random_requests(count: int, seed: int) -> Prompts:
    """Return random requests."""
    chance = random.Random(seed)
    return [
        [chance.randrange(VOCABULARY) for _ in range(chance.randint(120, 200))]
        for _ in range(count)
    ]


def check(model: Any) -> None:
    """Raise SystemExit unless all contestants give the same greedy replies."""
    prompts = random_requests(8, 1)
    replies = [reply(prompts, 0.0) for reply in contestants(model).values()]
    if any(each != replies[0] for each in replies):
        raise SystemExit(f"the greedy replies of the contestants differ: {replies}")


def measure(model: Any, seed: int, dialogues: int, turns: int) -> dict[str, Spent]:
    """Return the time of each contestant for all turns; every next prompt contains the first contestant's reply."""
    prompts, chance = random_requests(dialogues, seed), random.Random(seed)
    repliers = contestants(model)
    spent = dict.fromkeys(repliers, Spent(0.0, 0.0, 0.0))
    for _ in range(turns):
        replies: Prompts = []
        for name, reply in repliers.items():
            before = now()
            said = reply(prompts, 1.0)
            spent[name] += now() - before
            replies = replies or said
        prompts = [
            [*prompt, *said, *(chance.randrange(VOCABULARY) for _ in range(HEARD))]
            for prompt, said in zip(prompts, replies, strict=True)
        ]
    return spent


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--dialogues", type=int, default=32)
    parser.add_argument("--turns", type=int, default=5)


@benchmark(
    "generate",
    ratios=[
        Ratio(f"{name} / ours, {quantity}", f"{name}: {quantity}", f"{OURS}: {quantity}", "higher")
        for name in (THEIRS, AGAIN)
        for quantity in ("wall", "CPU")
    ],
    options=options,
)
def generate_replies(given: Namespace) -> Iterator[Round]:
    """Check that the greedy replies are the same, then measure."""
    model = random_model()
    check(model)
    for number in range(given.rounds):
        found: Round = {}
        for name, cost in measure(model, number, given.dialogues, given.turns).items():
            found[f"{name}: wall"] = Quantity(cost.wall, "s")
            found[f"{name}: CPU"] = Quantity(cost.own, "s")
        yield found


if __name__ == "__main__":
    main(generate_replies)
