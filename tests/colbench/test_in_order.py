"""Work on many items, some at a time: what comes of it has the order of the items."""

from __future__ import annotations

import asyncio

import pytest

from colbench.event_loop import in_order


async def test_results_have_the_order_of_the_items_and_few_are_begun_at_a_time():
    begun, taken = 0, 0

    async def work(item):
        nonlocal begun
        begun += 1
        assert begun - taken <= 3
        for _ in range(10 - item):
            await asyncio.sleep(0)
        return item * item

    found = []
    async for item, result in in_order(range(10), work, most=3):
        found.append((item, result))
        taken += 1
    assert found == [(item, item * item) for item in range(10)]


async def test_an_error_ends_it_and_what_was_begun_is_cancelled():
    ended = []

    async def work(item):
        if item == 1:
            raise ValueError("boom")
        try:
            await asyncio.sleep(60 if item else 0)
        except asyncio.CancelledError:
            ended.append(item)
            raise
        return item

    with pytest.raises(ValueError, match="boom"):
        async for _ in in_order(range(4), work, most=3):
            pass
    await asyncio.sleep(0)
    assert ended == [2]  # the last one had not started yet
    assert asyncio.all_tasks() == {asyncio.current_task()}
