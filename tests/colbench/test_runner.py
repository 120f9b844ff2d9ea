"""The runner: it plays every cell once, classifies failures, scores during dialogues, and resumes pending cells."""

from __future__ import annotations

import asyncio
import gc
from contextlib import ExitStack, asynccontextmanager

import pytest
from msgspec.structs import replace

from colbench.cell_queue import GIVE_UP_AFTER
from colbench.cells import plan
from colbench.errors import EndpointError, SandboxError, SimulatorError, UserError
from colbench.event_loop import COLLECTED_AFTER, RARE_COLLECTIONS
from colbench.messages import Message
from colbench.rollout import decode_line, encode_rollout
from colbench.runner import Runner
from colbench.score import Score
from colbench.task import Hidden, Task

TASKS = [
    Task(
        id=f"t{n}",
        domain="backend",
        request=f"task {n}",
        hidden=Hidden(reference="x = 1", tests=("f()",)),
    )
    for n in range(6)
]


class Agent:
    """An agent that asks once, then answers; `on_reply` may raise or wait."""

    def __init__(self, on_reply=None):
        self.on_reply = on_reply

    async def reply(self, dialogue):
        if self.on_reply:
            await self.on_reply(dialogue)
        return "what?" if len(dialogue) == 1 else "I WANT TO ANSWER: y"


class Human:
    async def respond(self, task, dialogue):
        return Message(role="user", content="that.")


class Scorer:
    def __init__(self, error=None):
        self.error = error
        self.answers = []

    async def score(self, task, answer):
        self.answers.append(answer)
        if self.error:
            raise self.error
        return {"default": Score(scorer="s", value=1.0, success=True)}


async def run(
    agent=None, human=None, scorer=None, cells=None, earlier=None, concurrency=3, seconds=5.0
):
    done = []
    runner = Runner(
        agent=agent or Agent(),
        human=human or Human(),
        scorers={"backend": scorer or Scorer()},
        max_turns=10,
        concurrency=concurrency,
        dialogue_timeout=seconds,
        scoring_slots=1,
    )
    await runner.run(plan(TASKS, 1, "d", 0) if cells is None else cells, earlier or {}, done.append)
    return done


async def test_every_cell_is_played_and_scored_once():
    cells = list(plan(TASKS, 2, "digest", 0))
    done = await run(cells=cells)
    assert sorted(r.key for r in done) == sorted(c.key for c in cells)
    assert len({r.key for r in done}) == 12
    assert all(r.scores["default"].value == 1.0 and r.settled for r in done)
    assert all(turn.leak is not None for r in done for turn in r.turns[:-1])


def test_keys_and_seeds_depend_on_task_trial_and_configuration_only():
    one, two = list(plan(TASKS, 2, "a", 0)), list(plan(TASKS[::-1], 2, "a", 0))
    assert {(c.task.id, c.trial): (c.key, c.seed) for c in one} == {
        (c.task.id, c.trial): (c.key, c.seed) for c in two
    }
    assert {c.key for c in one}.isdisjoint(c.key for c in plan(TASKS, 2, "b", 0))
    assert {c.seed for c in one}.isdisjoint(c.seed for c in plan(TASKS, 2, "a", 1))


async def test_concurrency_limits_the_dialogues_in_flight():
    inside = most = 0

    async def count(_):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.01)
        inside -= 1

    await run(Agent(count), concurrency=2)
    assert most == 2


async def test_scoring_overlaps_with_later_dialogues():
    """Score the first answer only after a later dialogue has begun, which requires that dialogues continue."""
    third_began = asyncio.Event()

    async def mark(dialogue):
        if dialogue[0].content == "task 2":
            third_began.set()

    class Waits(Scorer):
        async def score(self, task, answer):
            await asyncio.wait_for(third_began.wait(), 2)
            return await super().score(task, answer)

    assert len(await run(Agent(mark), scorer=Waits(), concurrency=1)) == 6


async def test_an_agent_failure_scores_zero_and_is_settled():
    async def fail(dialogue):
        if dialogue[0].content == "task 1":
            raise ValueError("boom")

    failed = next(r for r in await run(Agent(fail)) if r.task_id == "t1")
    assert failed.failure.boundary == "agent"
    assert (failed.scores["default"].value, failed.scores["default"].success) == (0.0, False)
    assert failed.settled
    assert failed.answer is None


async def test_a_simulator_failure_leaves_the_rollout_unscored_and_unsettled():
    class Broken:
        async def respond(self, task, dialogue):
            raise SimulatorError("empty reply")

    done = await run(human=Broken())
    assert all(r.scores == {} and not r.settled for r in done)
    assert done[0].failure.reason == "empty reply"
    assert [turn.raw for turn in done[0].turns] == ["what?"]


async def test_a_dialogue_that_times_out_fails_at_the_boundary_it_waits_for():
    async def hang(dialogue):
        if dialogue[0].content == "task 0":
            await asyncio.sleep(60)

    slow = next(r for r in await run(Agent(hang), seconds=0.2) if r.task_id == "t0")
    assert (slow.failure.boundary, slow.failure.reason) == ("agent", "no answer in time")


def unmarked(turn):
    return replace(turn, asked=None, told=None)


async def test_a_dialogue_whose_scoring_failed_is_kept_and_scored_again():
    lost = await run(scorer=Scorer(SandboxError("worker died twice")))
    assert {r.failure.boundary for r in lost} == {"sandbox"}

    async def never(_):
        raise AssertionError("the dialogue was played again")

    again = await run(Agent(never), earlier={r.key: r for r in lost})
    assert [replace(r, failure=None, scores={}) for r in lost] == [
        replace(r, scores={}, asking=None, turns=tuple(map(unmarked, r.turns)))
        for r in sorted(again, key=lambda r: [x.key for x in lost].index(r.key))
    ]
    assert all(r.scores["default"].value == 1.0 for r in again)


async def test_a_run_stops_after_too_many_endpoint_failures_in_a_row():
    calls = 0

    async def gone(_):
        nonlocal calls
        calls += 1
        raise EndpointError("http://h: tried 7 times")

    with pytest.raises(
        EndpointError,
        match="20 dialogues in a row failed .*; the last failure: http://h: tried 7 times",
    ):
        await run(Agent(gone), cells=plan(TASKS, 50, "d", 0), concurrency=1)
    assert calls == GIVE_UP_AFTER


async def test_a_run_stops_if_the_human_fails_in_too_many_dialogues_in_a_row():
    class Silent:
        async def respond(self, task, dialogue):
            raise SimulatorError("an empty reply", kind="empty")

    with pytest.raises(EndpointError, match="in a row failed .*; the last failure: an empty reply"):
        await run(human=Silent(), cells=plan(TASKS, 50, "d", 0), concurrency=1)


async def test_a_user_error_during_a_run_stops_it_and_is_raised():
    async def refused(_):
        raise UserError("key refused")

    with pytest.raises(UserError, match="key refused"):
        await run(Agent(refused))


async def test_a_stateful_agent_is_opened_and_closed_for_each_dialogue():
    opened, closed = [], []

    class Stateful:
        @asynccontextmanager
        async def open(self, episode):
            opened.append(episode)
            yield Agent()
            closed.append(episode)

    done = await run(Stateful())
    assert len(opened) == len(closed) == len(done) == 6
    assert {e.seed for e in opened} == {r.seed for r in done}
    assert all("t" + str(n) not in e.id for n in range(6) for e in opened)


async def test_a_human_message_with_none_as_thoughts_is_a_simulator_failure():
    class Thoughtless:
        async def respond(self, task, dialogue):
            return Message(role="user", content="that.", thoughts=None)

    (first, *_) = await run(human=Thoughtless())
    assert (first.failure.boundary, first.scores) == ("simulator", {})


async def test_dialogues_that_wait_for_scoring_are_scored_when_the_run_stops():
    ended = asyncio.Event()
    answers = 0

    async def refused_at_last(dialogue):
        nonlocal answers
        if dialogue[0].content == TASKS[-1].request:
            await ended.wait()
            raise UserError("quota used up")
        answers += len(dialogue) > 1
        if answers == len(TASKS) - 1:
            ended.set()

    class Slow(Scorer):
        async def score(self, task, answer):
            await asyncio.sleep(0.05)
            return await super().score(task, answer)

    done = []
    runner = Runner(
        agent=Agent(refused_at_last),
        human=Human(),
        scorers={"backend": Slow()},
        max_turns=10,
        concurrency=len(TASKS),
        dialogue_timeout=5.0,
        scoring_slots=1,
    )
    with pytest.raises(UserError, match="quota used up"):
        await runner.run(plan(TASKS, 1, "d", 0), {}, done.append)
    assert {each.task_id for each in done} == {task.id for task in TASKS[:-1]}


@pytest.mark.parametrize(
    "score",
    [
        Score(scorer="s", value=float("nan"), success=False),
        Score(scorer="s", value=1.0, success=True, metrics={"speed": float("inf")}),
    ],
)
async def test_a_score_that_is_not_finite_is_a_scorer_failure(score, tmp_path):
    class Endless(Scorer):
        async def score(self, task, answer):
            return {"default": score}

    (first, *_) = await run(scorer=Endless())
    assert first.failure.boundary == "scorer"
    assert "the scorer returned" in first.failure.reason
    line = encode_rollout(first)
    assert decode_line(tmp_path, line, lambda: 1) == first


async def test_an_answer_counts_even_if_closing_the_agent_fails(caplog):
    class Opens:
        @asynccontextmanager
        async def open(self, episode):
            yield Agent()
            raise ValueError("in use")

    done = await run(Opens(), cells=list(plan(TASKS[:1], 1, "d", 0)))
    assert [(each.answer, each.failure) for each in done] == [("y", None)]
    assert "closing the agent failed: ValueError: in use" in caplog.text


async def test_an_agent_that_handles_a_failed_helper_keeps_its_dialogues():
    async def fails():
        await asyncio.sleep(0.01)
        raise ValueError("no helper")

    async def asks_helpers(dialogue):
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
        except* ValueError:
            pass

    done = await run(Agent(asks_helpers))
    assert [each.answer for each in done] == ["y"] * len(TASKS)


def test_the_last_of_overlapping_runs_restores_the_threshold_of_the_collector():
    before = gc.get_threshold()
    one, other = ExitStack(), ExitStack()
    one.enter_context(RARE_COLLECTIONS)
    other.enter_context(RARE_COLLECTIONS)
    one.close()
    assert gc.get_threshold()[0] == COLLECTED_AFTER
    other.close()
    assert gc.get_threshold() == before
