"""Work on many items, a few at a time; the results have the order of the items."""

from __future__ import annotations

import asyncio

import pytest

from colbench.event_loop import in_order


async def test_results_are_in_item_order_and_few_items_are_started_at_a_time():
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


async def test_an_error_cancels_the_work_that_was_started():
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
