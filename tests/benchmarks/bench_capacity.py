"""The share of a rate-limited server's capacity that a run uses.

    python tests/benchmarks/bench_capacity.py [--seconds 12] [--capacity 4 32] [--service 0.05 0.2] [--clients openai]

64 dialogues send requests at once, half of them as the agent and half as the human. `--service` is the shortest and the
longest time that the server takes for a request, in seconds. The capacity is the number of requests that the server
could answer during the measurement.
"""

from __future__ import annotations

import asyncio
import random
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

from bench import benchmark, main
from records import Quantity, Ratio, Round
from serving import served

from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat

DIALOGUES = 64
HELLO = [Message(role="user", content="How should the total be rounded?")]


async def measure(url: str, client: str, seconds: float) -> tuple[Counter[str], list[float], int]:
    """Return the number of answered requests by role, their waiting times in seconds, and the number of refusals."""
    answered, waits, refusals = Counter[str](), list[float](), 0
    async with (
        OpenAIChat(f"scripted@{url}", client=client) as agent,
        OpenAIChat(f"scripted@{url}", client=client) as human,
    ):
        end = time.monotonic() + seconds

        async def talk(role: str, chat: OpenAIChat) -> None:
            nonlocal refusals
            while True:
                said = await chat.chat(HELLO, temperature=1.0, max_tokens=64, seed=1)
                if time.monotonic() > end:
                    return
                answered[role] += 1
                waits.append(said.delivery.waited)
                refusals += said.delivery.retries

        roles = (("agent", agent), ("human", human))
        await asyncio.gather(*(talk(*roles[n % 2]) for n in range(DIALOGUES)))
    return answered, waits, refusals


def say(_: object) -> str:
    return "To the next full euro."


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--capacity", type=int, nargs="*", default=[4, 32])
    parser.add_argument("--service", type=float, nargs=2, default=[0.05, 0.2], metavar="S")
    parser.add_argument("--clients", nargs="*", default=["openai", "aiohttp"])


@benchmark(
    "capacity",
    ratios=[
        Ratio(
            f"answered / capacity {capacity}, {client}",
            f"{capacity} at once, {client}: answered",
            f"{capacity} at once, {client}: capacity",
            better="higher",
        )
        for capacity in (4, 32)
        for client in ("openai", "aiohttp")
    ],
    options=options,
)
def capacity(given: Namespace) -> Iterator[Round]:
    """Send requests to a fresh server through each client in turn."""
    for _ in range(given.rounds):
        found: Round = {}
        for slots in given.capacity:
            for client in given.clients:
                found |= load_server(given, slots, client)
        yield found


def load_server(given: Namespace, slots: int, client: str) -> Round:
    with served(say, lambda: random.uniform(*given.service), slots=slots) as url:
        answered, waits, refusals = asyncio.run(measure(url, client, given.seconds))
    total = answered.total()
    name = f"{slots} at once, {client}"
    return {
        f"{name}: capacity": Quantity(2 * slots / sum(given.service) * given.seconds, ""),
        f"{name}: answered": Quantity(total, ""),
        f"{name}: the agent's share": Quantity(100 * answered["agent"] / total, "%"),
        f"{name}: longest wait": Quantity(max(waits), "s"),
        f"{name}: refusals per reply": Quantity(refusals / total, ""),
    }


if __name__ == "__main__":
    main(capacity)
