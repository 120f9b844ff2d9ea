"""How much of a rate-limited server a run gets: 64 dialogues' worth of requests, half the agent's, half the human's.

python tests/benchmarks/bench_capacity.py [--seconds 20] [--capacity 4 32] [--service 0.05 0.2] [--clients aiohttp]

`--service` is the least and the most that a request takes, in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter

from serving import served

from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat

DIALOGUES = 64
HELLO = [Message(role="user", content="How should the total be rounded?")]


async def measure(url: str, client: str, seconds: float) -> tuple[Counter[str], list[float], int]:
    """Return the answered requests of each role, how long they waited, and the number of refusals."""
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--capacity", type=int, nargs="*", default=[4, 32])
    parser.add_argument("--service", type=float, nargs=2, default=[0.05, 0.2], metavar="S")
    parser.add_argument("--clients", nargs="*", default=["openai", "aiohttp"])
    args = parser.parse_args()
    for capacity in args.capacity:
        ideal = capacity / (sum(args.service) / 2) * args.seconds
        for client in args.clients:
            with served(say, lambda: random.uniform(*args.service), slots=capacity) as url:
                answered, waits, refusals = asyncio.run(measure(url, client, args.seconds))
            total = answered.total()
            print(
                f"capacity {capacity:2}  {client:<8} {total / ideal:6.1%} of it   "
                f"agent {answered['agent'] / total:5.1%}, human {answered['human'] / total:5.1%}   "
                f"longest wait {max(waits):.1f} s   {refusals / total:.2f} refusals a reply"
            )


if __name__ == "__main__":
    main()
