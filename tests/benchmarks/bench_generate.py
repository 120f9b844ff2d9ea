"""Dialogues in this process: replies by `sweet_rl_trainer.model.generate`, compared with transformers' own `generate`.

    python tests/benchmarks/bench_generate.py [--rounds 3] [--dialogues 64] [--turns 5]

A Llama of 2 million random weights, float32 on the CPU, and many dialogues at once: each prompt is the one before with
the reply to it and 20 more tokens. Any of 40 tokens of 1,024 ends a reply, so some are short and few are long, as where
an agent asks and answers. It is an error if a greedy reply is not the same. Then contestants take turns on the same
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
    """Return the ways to reply; those that hold what they have read begin with nothing."""
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
    """Reply by `model.generate`, filled up on the left."""
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
    """Return a reply until the token that ends it."""
    end = next((place for place, token in enumerate(reply) if token in ENDS), len(reply) - 1)
    return reply[: end + 1]


def begun(count: int, seed: int) -> Prompts:
    """Return requests."""
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


def measured(model: Any, seed: int, dialogues: int, turns: int) -> dict[str, Spent]:
    """Return what each took for all turns; the first one's replies lead to the next prompts of all."""
    prompts, chance = begun(dialogues, seed), random.Random(seed)
    ways = contestants(model)
    spent = dict.fromkeys(ways, Spent(0.0, 0.0, 0.0))
    for _ in range(turns):
        replies: Prompts = []
        for name, reply in ways.items():
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
        for name, cost in measured(model, number, given.dialogues, given.turns).items():
            found[f"{name}: wall"] = Quantity(cost.wall, "s")
            found[f"{name}: CPU"] = Quantity(cost.own, "s")
        yield found


if __name__ == "__main__":
    main(generate_replies)
