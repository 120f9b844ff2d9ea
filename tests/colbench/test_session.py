"""A session: one dialogue step by step, and whole dialogues with an agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

import pytest

import colbench
from colbench.errors import SimulatorError
from colbench.messages import ANSWER_MARKER
from colbench.models.servers import current_servers
from colbench.session import Session

TASKS = colbench.load_tasks("bundled:backend", limit=3)


class Knows:
    """An agent that answers at once with the reference of the first task."""

    async def reply(self, dialogue: Sequence[colbench.Message]) -> str:
        return f"{ANSWER_MARKER}\n{TASKS[0].hidden.reference}"


class Silent:
    """A human who knows nothing."""

    async def respond(self, task: colbench.Task, dialogue: Sequence[colbench.Message]) -> str:
        return "I do not know."


@pytest.fixture
async def session():
    async with Session(domain="backend", human="keyless", sandbox_workers=1) as session:
        yield session


async def test_a_dialogue_runs_step_by_step(session):
    task = TASKS[0]
    talk = session.start(task)
    assert [message.content for message in talk.messages] == [task.request]
    asked = await talk.step("What should it do?")
    assert not asked.done
    assert asked.scores == {}
    assert asked.message == talk.messages[-1]
    assert [message.role for message in talk.messages] == ["user", "assistant", "user"]
    answered = await talk.step(f"{ANSWER_MARKER}\n{task.hidden.reference}")
    assert answered.done
    assert answered.message is None
    assert answered.scores["default"].success is True
    assert [turn.raw for turn in answered.rollout.turns] == [turn.raw for turn in talk.turns]
    assert answered.rollout.task_id == task.id


async def test_the_turn_limit_ends_a_dialogue(session):
    async with Session(domain="backend", max_turns=2, sandbox_workers=1) as short:
        talk = short.start(TASKS[0])
        assert not (await talk.step("Hello?")).done
        last = await talk.step("def f(): pass")
        assert last.rollout.ended_by == "limit"
        assert last.rollout.answer == "def f(): pass"


async def test_an_ended_dialogue_refuses_further_steps(session):
    talk = session.start(TASKS[0])
    await talk.step(f"{ANSWER_MARKER}\npass")
    with pytest.raises(colbench.UserError, match="this dialogue has ended"):
        await talk.step("Anything else?")


async def test_a_reply_that_is_not_a_message_is_refused(session):
    with pytest.raises(colbench.AgentError, match="it must return a Message with text, or a str"):
        await session.start(TASKS[0]).step(3)


async def test_rollouts_are_in_the_order_of_the_cells(session):
    cells = [session.cell(task, trial) for trial in range(2) for task in TASKS]
    rollouts = await session.run(Knows(), cells)
    assert [(each.task_id, each.trial) for each in rollouts] == [
        (cell.task.id, cell.trial) for cell in cells
    ]
    assert [each.scores["default"].success for each in rollouts][:2] == [True, False]


async def test_a_step_gives_the_same_seed_and_scores_as_an_evaluation(session):
    run = await colbench.evaluate_async(agent=Knows(), tasks=TASKS[:1], sandbox_workers=1)
    step = await session.start(TASKS[0]).step(await Knows().reply([]))
    whole = run.rollouts[0]
    assert (step.rollout.seed, step.rollout.scores) == (whole.seed, whole.scores)


def test_an_invalid_setting_is_named():
    with pytest.raises(colbench.UserError, match="max_turns: expected a whole number >= 1"):
        Session(domain="backend", max_turns=0)


@pytest.mark.slow
async def test_a_human_that_ignores_cancellation_does_not_block_a_step():
    class Stubborn:
        async def respond(self, task, dialogue):
            end = time.monotonic() + 8
            while time.monotonic() < end:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(8)

    limits = {"dialogue_timeout": 0.2, "sandbox_workers": 1}
    async with Session(domain="backend", human=Stubborn(), **limits) as session:
        with pytest.raises(SimulatorError, match="did not end within 5 s after CancelledError"):
            await session.start(TASKS[0]).step("Hello?")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"domian": "backend"}, "domian: unknown setting; did you mean `domain`?"),
        ({"tasks": ["a"]}, "tasks: expected a source.*; got 'a'"),
        ({"tasks": TASKS, "domain": "frontend"}, "frontend: the list of tasks has no task of this"),
        ({"tasks": TASKS, "task_ids": ["x"]}, "^--task-ids: the list of tasks has no x$"),
        ({"domain": "backend", "human": 3}, "human: builtins:int has no method `respond`"),
        ({"human": Silent(), "human_args": {"x": 1}}, "human_args: cannot be used if the human is"),
    ],
)
def test_a_wrong_argument_is_named(given, message):
    with pytest.raises(colbench.UserError, match=message):
        Session(**given)


async def test_objects_that_are_not_tasks_or_agents_are_refused(session):
    with pytest.raises(colbench.UserError, match="task: expected a Task.*, got 'foo'"):
        session.start("foo")
    with pytest.raises(colbench.UserError, match="agent: builtins:int has no method `reply`"):
        await session.run(42, [])
    with pytest.raises(
        colbench.UserError, match="agent: expected an object .* got 'guesser'; only"
    ):
        await session.run("guesser", [])
    with pytest.raises(colbench.UserError, match="task: expected a Task"):
        await session.run_dialogue(Knows(), session.cell(TASKS[0]))
    for wrong in (TASKS, session.cell(TASKS[0])):
        with pytest.raises(colbench.UserError, match=r"cells: .* write \[session.cell\(task\) for"):
            await session.run(Knows(), wrong)


async def test_the_endpoint_patience_of_a_session_applies_to_model_servers():
    before = current_servers().patience
    try:
        async with Session(domain="backend", human="keyless", endpoint_patience=7.5):
            assert current_servers().patience == 7.5
    finally:
        current_servers().patience = before


class Hesitant:
    """A human that fails once."""

    def __init__(self) -> None:
        self.failed = False

    async def respond(self, task: colbench.Task, dialogue: Sequence[colbench.Message]) -> str:
        if not self.failed:
            self.failed = True
            raise OSError("busy")
        return "No."


async def test_a_step_can_be_repeated_after_the_human_failed():
    async with Session(domain="backend", human=Hesitant(), max_turns=2, sandbox_workers=1) as short:
        talk = short.start(TASKS[0])
        with pytest.raises(SimulatorError, match="busy"):
            await talk.step("Hello?")
        assert talk.turns == ()
        assert (await talk.step("Hello?")).message.content == "No."
        assert (await talk.step("def f(): pass")).done
