"""The adaptive limit: how many requests hold a slot at once, and how successes and refusals change that."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from colbench.models.limits import AdaptiveLimit
from colbench.models.refusals import backoff


async def most_at_once(limit: AdaptiveLimit, tasks: int) -> int:
    inside = most = 0

    async def one() -> None:
        nonlocal inside, most
        async with limit.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(one() for _ in range(tasks)))
    return most


async def refuse(limit: AdaptiveLimit, together: int) -> None:
    """Refuse requests that are in flight at the same time."""
    async with AsyncExitStack() as stack:
        slots = [await stack.enter_async_context(limit.slot()) for _ in range(together)]
        for slot in slots:
            slot.refused()


async def succeed(limit: AdaptiveLimit, times: int) -> None:
    for _ in range(times):
        async with limit.slot() as slot:
            slot.succeeded()


async def test_a_larger_maximum_raises_the_limit_only_if_it_was_never_cut():
    limit = AdaptiveLimit(2)
    held = [limit.slot() for _ in range(3)]
    waiting = [asyncio.create_task(each.__aenter__()) for each in held]
    await asyncio.sleep(0)
    assert (limit.in_flight, limit.waiting) == (2, 1)
    limit.resize(4)
    await asyncio.gather(*waiting)
    assert (limit.in_flight, limit.allowed) == (3, 4.0)
    limit.cut()
    limit.resize(8)
    assert limit.allowed < 4
    limit.resize(1)
    assert limit.allowed == 1.0


async def test_at_most_the_maximum_hold_a_slot_at_once():
    assert await most_at_once(AdaptiveLimit(5), 40) == 5


async def test_simultaneous_refusals_cut_the_limit_once_by_a_fifth():
    limit = AdaptiveLimit(20)
    await refuse(limit, 20)
    assert limit.allowed == 16
    assert await most_at_once(limit, 40) == 16
    await refuse(limit, 16)
    assert limit.allowed == pytest.approx(12.8)


async def test_a_cut_starts_from_the_requests_in_flight():
    limit = AdaptiveLimit(1000)
    await refuse(limit, 10)
    assert limit.allowed == 8


async def test_a_round_of_successes_adds_four_below_the_last_refusal_and_then_one():
    limit = AdaptiveLimit(40)
    await refuse(limit, 20)
    await succeed(limit, 16)
    assert limit.allowed == pytest.approx(19.2, abs=0.3)
    before = limit.allowed
    await succeed(limit, 19)
    assert limit.allowed == pytest.approx(before + 1, abs=0.1)


async def test_the_limit_stays_between_one_and_the_maximum():
    limit = AdaptiveLimit(1)
    await succeed(limit, 3)
    assert limit.allowed == 1
    await refuse(limit, 1)
    assert limit.allowed == 1


async def test_a_repeated_request_goes_first_and_the_others_keep_their_order():
    limit, order = AdaptiveLimit(1), list[str]()

    async def one(name: str, *, again: bool = False) -> None:
        async with limit.slot(again=again):
            order.append(name)

    async with limit.slot():
        waiting = [asyncio.create_task(one(name)) for name in ("agent", "human")]
        await asyncio.sleep(0)
        waiting.append(asyncio.create_task(one("refused", again=True)))
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == ["refused", "agent", "human"]


async def test_a_canceled_waiter_leaves_its_place_to_the_next():
    limit, entered = AdaptiveLimit(1), list[str]()

    async def one(name: str) -> None:
        async with limit.slot():
            entered.append(name)

    async with limit.slot():
        first, second = (asyncio.create_task(one(name)) for name in ("first", "second"))
        await asyncio.sleep(0)
        first.cancel()
    await asyncio.wait_for(second, 1)
    assert entered == ["second"]
    assert limit.in_flight == 0


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer, so seconds pass at once, even on a slow machine."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0].when())
        super()._run_once()


async def served(capacity: int, seconds: float) -> Counter[str]:
    """Return the answered requests of 64 dialogues, by role, on a server that refuses beyond its capacity."""
    limit, busy, answered = AdaptiveLimit(256), 0, Counter[str]()
    loop = asyncio.get_running_loop()

    async def one(role: str) -> None:
        nonlocal busy
        failures = 0
        while True:
            async with limit.slot(again=failures > 0) as slot:
                if busy < capacity:
                    busy += 1
                    await asyncio.sleep(random.uniform(0.05, 0.2))
                    busy -= 1
                    slot.succeeded()
                    answered[role] += loop.time() < seconds
                    return
                slot.refused()
            failures += 1
            await asyncio.sleep(backoff(failures))

    async def talk(role: str) -> None:
        while loop.time() < seconds:
            await one(role)

    await asyncio.gather(*(talk("human" if n % 2 else "agent") for n in range(64)))
    return answered


@pytest.mark.parametrize("capacity", [4, 32])
def test_over_90_percent_of_capacity_is_used_and_both_roles_get_a_fair_share(capacity):
    seconds = 60.0
    random.seed(capacity)
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        answered = runner.run(served(capacity, seconds))
    share = answered.total() / (capacity / 0.125 * seconds)
    assert share > 0.9
    assert min(answered.values()) > 0.4 * answered.total()
