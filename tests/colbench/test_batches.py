from __future__ import annotations

import asyncio
import threading

import pytest

from colbench.domains.frontend.batches import Batches
from colbench.domains.frontend.known import Known


def do_nothing():
    pass


def batches(work, size=4, lanes=1, prepare=do_nothing):
    return Batches(work, size=size, lanes=lanes, prepare=prepare)


async def test_each_caller_gets_the_result_of_its_own_item():
    line = batches(lambda items: [item * item for item in items])
    assert await asyncio.gather(*map(line.run, range(50))) == [n * n for n in range(50)]
    line.close()


async def test_items_that_wait_for_a_busy_thread_form_batches_up_to_the_size():
    seen, gate = [], threading.Event()

    def work(items):
        gate.wait(10)
        seen.append(list(items))
        return items

    line = batches(work)
    waiting = [asyncio.create_task(line.run(number)) for number in range(10)]
    await asyncio.sleep(0.05)
    gate.set()
    await asyncio.gather(*waiting)
    line.close()
    assert [len(batch) for batch in seen[1:]] == [4] * (len(seen) - 2) + [len(seen[-1])]
    assert [item for batch in seen for item in batch] == list(range(10))


async def test_lanes_work_concurrently_and_each_is_prepared_once():
    prepared, meeting = [], threading.Barrier(2, timeout=10)

    def work(items):
        meeting.wait()
        return items

    line = batches(work, size=1, lanes=2, prepare=lambda: prepared.append(threading.get_ident()))
    assert await asyncio.gather(*map(line.run, range(6))) == list(range(6))
    line.close()
    assert len(set(prepared)) == len(prepared) == 2


async def test_an_error_affects_only_its_own_batch():
    def work(items):
        return [1 / item for item in items]

    line = batches(work, size=1)
    found = await asyncio.gather(*map(line.run, [1, 0, 2]), return_exceptions=True)
    line.close()
    assert [found[0], found[2]] == [1, 0.5]
    assert isinstance(found[1], ZeroDivisionError)


async def test_the_item_of_a_canceled_caller_is_not_processed():
    seen, gate = [], threading.Event()

    def work(items):
        gate.wait(10)
        seen.extend(items)
        return items

    line = batches(work, size=1)
    first, gone, last = (asyncio.create_task(line.run(name)) for name in ("first", "gone", "last"))
    await asyncio.sleep(0.05)
    gone.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(first, last) == ["first", "last"]
    line.close()
    assert seen == ["first", "last"]


async def test_a_value_is_computed_once_and_recently_used_values_are_kept():
    computed, known = [], Known[int, int](2)

    def get(key):
        async def compute():
            computed.append(key)
            return key * key

        return known.get(key, compute)

    assert await asyncio.gather(get(3), get(3), get(4)) == [9, 9, 16]
    assert await get(3) == 9
    assert computed == [3, 4]
    await get(5)
    await get(3)
    assert computed == [3, 4, 5]
    await get(4)
    assert computed == [3, 4, 5, 4]


async def test_a_failed_computation_is_retried():
    attempts, known = [], Known[str, str](2)

    async def compute():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("not yet")
        return "value"

    with pytest.raises(OSError, match="not yet"):
        await known.get("key", compute)
    assert await known.get("key", compute) == "value"
