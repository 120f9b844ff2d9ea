"""The cost of a call on the client's side: the chat client in each of its two ways, and the official package alone.

python tests/benchmarks/bench_chat_client.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from openai import AsyncOpenAI
from serving import served

from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat

CALLS, AT_ONCE, DELAY = 4000, 128, 0.05
WORDS = "How should the total be rounded when the order has a discount? " * 5


async def timed(call: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """CPU milliseconds a call, and wall time in units of what the delays alone take."""
    await call()
    queue = iter(range(CALLS))

    async def work() -> None:
        for _ in queue:
            await call()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return 1000 * cpu / CALLS, wall / (CALLS / AT_ONCE * DELAY)


async def of_harness(url: str, client: str) -> tuple[float, float]:
    messages = [Message(role="user", content=WORDS)] * 5
    async with OpenAIChat(f"scripted@{url}", client=client) as chat:
        return await timed(lambda: chat.chat(messages, temperature=1.0, max_tokens=1024, seed=1))


async def bare(url: str) -> tuple[float, float]:
    messages = [{"role": "user", "content": WORDS}] * 5
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        return await timed(
            lambda: client.chat.completions.create(
                model="scripted", messages=messages, max_tokens=1024
            )
        )


def say(_: object) -> str:
    return "It is rounded to the next full euro."


def main() -> None:
    """Measure and print."""
    ways = {
        "client=aiohttp": partial(of_harness, client="aiohttp"),
        "client=openai": partial(of_harness, client="openai"),
        "openai alone": bare,
    }
    for name, way in ways.items():
        with served(say, DELAY) as url:
            cpu, ratio = asyncio.run(way(url))
        print(f"{name:<15} {cpu:5.2f} ms CPU a call   wall {ratio:5.2f} x the ideal")


if __name__ == "__main__":
    main()
