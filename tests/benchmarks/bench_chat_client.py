"""The client-side cost of a call: the chat client with each of its two libraries, and the official package alone.

    python tests/benchmarks/bench_chat_client.py [--calls 4000]

128 calls run at once, to a local server that answers after 50 ms.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from bench import benchmark, main
from openai import AsyncOpenAI
from records import Quantity, Ratio, Round
from serving import served
from usage import Spent, now

from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat

AT_ONCE, DELAY = 128, 0.05
WORDS = "How should the total be rounded when the order has a discount? " * 5


async def timed(call: Callable[[], Awaitable[object]], calls: int) -> Spent:
    """Return the time spent on many calls; a first call is not counted."""
    await call()
    queue = iter(range(calls))

    async def work() -> None:
        for _ in queue:
            await call()

    before = now()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return now() - before


async def through_harness(url: str, calls: int, client: str) -> Spent:
    messages = [Message(role="user", content=WORDS)] * 5
    async with OpenAIChat(f"scripted@{url}", client=client) as chat:
        return await timed(
            lambda: chat.chat(messages, temperature=1.0, max_tokens=1024, seed=1), calls
        )


async def official_client(url: str, calls: int) -> Spent:
    messages = [{"role": "user", "content": WORDS}] * 5
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        return await timed(
            lambda: client.chat.completions.create(
                model="scripted", messages=messages, max_tokens=1024
            ),
            calls,
        )


def say(_: object) -> str:
    return "It is rounded to the next full euro."


CLIENTS = {
    "client=aiohttp": partial(through_harness, client="aiohttp"),
    "client=openai": partial(through_harness, client="openai"),
    "openai alone": official_client,
}


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=4000)


@benchmark(
    "chat-client",
    ratios=[
        *(
            Ratio(
                f"{way} / openai alone, CPU", f"{way}: CPU per call", "openai alone: CPU per call"
            )
            for way in ("client=aiohttp", "client=openai")
        ),
        Ratio("client=aiohttp / the ideal, wall", "client=aiohttp: wall", "ideal: wall"),
        Ratio("client=openai / the ideal, wall", "client=openai: wall", "ideal: wall"),
    ],
    options=options,
    quick="--calls 400",
)
def chat_client(given: Namespace) -> Iterator[Round]:
    """Make the calls through each client in turn, each time to a fresh server."""
    for _ in range(given.rounds):
        found: Round = {"ideal: wall": Quantity(given.calls / AT_ONCE * DELAY, "s")}
        for name, way in CLIENTS.items():
            with served(say, DELAY) as url:
                spent = asyncio.run(way(url, given.calls))
            found[f"{name}: wall"] = Quantity(spent.wall, "s")
            found[f"{name}: CPU per call"] = Quantity(1000 * spent.own / given.calls, "ms")
        yield found


if __name__ == "__main__":
    main(chat_client)
