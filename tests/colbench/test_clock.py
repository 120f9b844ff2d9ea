"""The clock of a dialogue: whose seconds count, and what happens to a speaker that ignores its time limit."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from colbench import event_loop
from colbench.clock import Clock, supervised, waiting
from colbench.errors import AgentError, SimulatorError
from colbench.loop_watch import BLOCKED, watched_loop


async def sleep(seconds):
    await asyncio.sleep(seconds)
    return "done"


async def test_the_time_limit_of_a_speaker_covers_all_its_replies():
    clock = Clock(0.3)
    for _ in range(2):
        assert await clock.hear(lambda: sleep(0.1)) == "done"
    with pytest.raises(AgentError, match="^no answer in time$") as late:
        await clock.hear(lambda: sleep(0.2))
    assert late.value.kind == "timeout"
    assert clock.seconds == pytest.approx(0.3, abs=0.08)


async def test_waiting_does_not_count_and_overlapping_waits_are_deducted_once():
    async def wait(seconds):
        with waiting():
            await asyncio.sleep(seconds)

    async def speak():
        await asyncio.gather(wait(0.2), wait(0.3), wait(0.1))
        await asyncio.sleep(0.05)
        await wait(0.2)
        return "done"

    clock = Clock(0.2, SimulatorError)
    assert await clock.hear(speak) == "done"
    assert clock.seconds == pytest.approx(0.05, abs=0.04)
    with pytest.raises(SimulatorError):
        await clock.hear(lambda: sleep(0.3))


async def test_spared_seconds_do_not_count_and_are_limited_to_the_elapsed_time():
    clock = Clock(60.0)

    async def speak():
        await asyncio.sleep(0.1)
        clock.spare(0.04)
        first = clock.seconds
        clock.spare(100.0)
        return first, clock.seconds

    first, second = await clock.hear(speak)
    assert first >= 0.05
    assert 0 <= second < first


async def test_waiting_outside_a_dialogue_or_in_another_loop_has_no_effect():
    with waiting():
        pass

    def elsewhere():
        with waiting():
            return "done"

    async def in_another_loop():
        return elsewhere()

    clock = Clock(5)
    spoken = await clock.hear(lambda: asyncio.to_thread(event_loop.run, in_another_loop()))
    assert spoken == "done"


async def test_a_late_speaker_times_out_even_if_it_catches_its_cancellation():
    async def answers():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "done"

    async def raises():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("stopped") from None

    for speak in (answers, raises):
        with pytest.raises(AgentError, match="no answer in time"):
            await Clock(0.05).hear(speak)


async def test_an_external_cancellation_wins_over_a_speaker_that_catches_it():
    async def answers():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "done"

    talking = asyncio.create_task(supervised(lambda _: Clock(60).hear(answers)))
    await asyncio.sleep(0.01)
    talking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talking


async def test_a_speaker_may_handle_a_failure_in_its_task_group():
    async def fails():
        await asyncio.sleep(0.01)
        raise ValueError("boom")

    async def speak():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
        except* ValueError:
            pass
        return "done"

    async def two_replies(_):
        clock = Clock(60)
        return [await clock.hear(speak), await clock.hear(lambda: sleep(0.01))]

    assert await supervised(two_replies) == ["done", "done"]
    assert await Clock(60).hear(speak) == "done"


async def swallow():
    """Ignore every cancellation for ten seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            continue


@pytest.mark.slow
async def test_a_speaker_that_ignores_cancellation_is_abandoned_and_its_line_named():
    start = time.monotonic()
    with pytest.raises(
        AgentError, match=r"no answer in time: test_clock.py:\d+ did not end within 5 s"
    ) as late:
        await supervised(lambda abandon: Clock(0.1, AgentError, abandon).hear(swallow))
    assert late.value.kind == "timeout"
    assert time.monotonic() - start < 8


def test_a_loop_ends_even_if_a_task_and_a_thread_do_not():
    async def work():
        left = [
            asyncio.create_task(swallow()),
            asyncio.create_task(asyncio.to_thread(time.sleep, 9)),
        ]
        await asyncio.sleep(0.1)
        return len(left)

    start = time.monotonic()
    assert event_loop.run(work()) == 2
    assert time.monotonic() - start < 5


def test_calls_in_threads_return_their_results_and_raise_their_errors():
    async def work():
        names = await asyncio.gather(*(asyncio.to_thread(str, n) for n in range(200)))
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(divmod, 1, 0)
        return names

    assert event_loop.run(work()) == [str(n) for n in range(200)]


def blocks(seconds):
    time.sleep(seconds)


def computes(seconds):
    """Hold the GIL, as a call into C code can."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        re.match(r"(a+)+$", "a" * 23 + "b")


@pytest.mark.parametrize("block", [blocks, computes])
async def test_time_in_which_a_speaker_blocks_the_loop_counts_only_for_that_speaker(block):
    async def guilty():
        await asyncio.sleep(0.3)
        block(2 * BLOCKED)
        return "done"

    own, others = Clock(60), [Clock(1.0) for _ in range(3)]
    with watched_loop():
        await asyncio.sleep(0.3)
        said = await asyncio.gather(
            own.hear(guilty), *(clock.hear(lambda: sleep(0.6)) for clock in others)
        )
    assert said == ["done"] * 4
    assert own.seconds > 2 * BLOCKED
    assert max(clock.seconds for clock in others) < 1.0


def keeps_sleeping():
    while True:
        try:
            time.sleep(60)
        except Exception:
            continue


async def wait_in_a_child():
    async def child():
        time.sleep(60)  # noqa: ASYNC251 - the mistake under test

    return await asyncio.create_task(child())


async def wait_itself():
    keeps_sleeping()


@pytest.mark.parametrize("speak", [wait_itself, wait_in_a_child])
async def test_a_speaker_that_blocks_past_its_limit_is_interrupted_and_named(speak):
    async def watched():
        with watched_loop():
            neighbor = asyncio.create_task(Clock(1.0).hear(lambda: sleep(0.3)))
            try:
                await Clock(1.5).hear(speak)
            finally:
                assert await neighbor == "done"

    start = time.monotonic()
    with pytest.raises(AgentError, match=r"test_clock.py:\d+ blocked the event loop; run the"):
        await watched()
    assert time.monotonic() - start < 5


class Loops:
    """An agent whose reply is Python code that never ends."""

    async def reply(self):
        while True:
            pass


def test_busy_code_in_the_loop_of_another_thread_is_interrupted():
    async def watched():
        with watched_loop():
            await Clock(1.5).hear(Loops().reply)

    async def in_a_thread():
        await asyncio.to_thread(event_loop.run, watched())

    with pytest.raises(AgentError, match="blocked the event loop"):
        event_loop.run(in_a_thread())


async def test_a_line_that_blocks_the_loop_for_long_is_logged_once(caplog):
    async def speak():
        time.sleep(5.6)  # noqa: ASYNC251 - the mistake under test

    with watched_loop():
        await Clock(60).hear(speak)
    (said,) = [record.getMessage() for record in caplog.records if record.name == "colbench"]
    assert re.match(
        r"test_clock.py:\d+ has blocked the event loop for 5 s; run the blocking code", said
    )
