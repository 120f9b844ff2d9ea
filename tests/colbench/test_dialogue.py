"""The dialogue's semantics: markers, the private part, the turn limit, who fails when."""

from __future__ import annotations

import asyncio
import time

import pytest

from colbench.clock import Clock
from colbench.dialogue import play, read_move
from colbench.errors import AgentError, SimulatorError
from colbench.messages import Message, Sampled, Usage
from colbench.task import Hidden, Task

TASK = Task(
    id="t",
    domain="backend",
    request="please",
    hidden=Hidden(reference="def f(): return 1", tests=("f()",)),
)


class Says:
    """An agent that says one thing after the other and keeps what it was shown."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.shown = []

    async def reply(self, dialogue):
        self.shown.append([(m.role, m.content) for m in dialogue])
        return self.replies.pop(0)


class Nods:
    async def respond(self, task, dialogue):
        return Message(role="user", content=f"reply {len(dialogue) // 2}")


async def talk(agent, human=None, max_turns=10, seconds=5.0):
    turns = []
    clock = Clock(seconds)
    ending = await play(TASK, agent, human or Nods(), max_turns=max_turns, clock=clock, turns=turns)
    return ending, turns


async def test_the_marker_ends_the_dialogue_and_what_follows_is_the_answer():
    ending, turns = await talk(Says("what?", "Thanks. I WANT TO ANSWER:\n def f(): return 1\n"))
    assert (ending.answer, ending.ended_by) == ("def f(): return 1", "answer")
    assert [turn.human for turn in turns] == ["reply 1", None]
    assert turns[1].said == "Thanks."


async def test_the_agent_sees_the_request_then_what_both_said():
    agent = Says("what?", "and?", "I WANT TO ANSWER: x")
    await talk(agent)
    assert agent.shown[2] == [
        ("user", "please"),
        ("assistant", "what?"),
        ("user", "reply 1"),
        ("assistant", "and?"),
        ("user", "reply 2"),
    ]


async def test_only_what_follows_output_is_shown_and_the_rest_is_kept_as_raw():
    agent = Says("secret thought OUTPUT: what?", "I WANT TO ANSWER: x")
    _, turns = await talk(agent)
    assert turns[0].raw == "secret thought OUTPUT: what?"
    assert turns[0].said == "what?"
    assert ("assistant", "what?") in agent.shown[1]


async def test_a_marker_in_the_private_part_is_a_thought_not_an_answer():
    ending, turns = await talk(Says("I WANT TO ANSWER: soon OUTPUT: why?", "I WANT TO ANSWER: x"))
    assert len(turns) == 2
    assert ending.answer == "x"


async def test_at_the_limit_the_whole_last_message_is_the_answer():
    ending, turns = await talk(Says("one", "two", "def f(): return 1"), max_turns=3)
    assert (ending.answer, ending.ended_by) == ("def f(): return 1", "limit")
    assert [turn.human for turn in turns] == ["reply 1", "reply 2", None]


async def test_a_marker_in_the_last_turn_counts_as_an_answer():
    ending, _ = await talk(Says("one", "here: I WANT TO ANSWER: x"), max_turns=2)
    assert (ending.answer, ending.ended_by) == ("x", "answer")


async def test_an_empty_answer_is_an_answer():
    ending, _ = await talk(Says("I WANT TO ANSWER:"))
    assert (ending.answer, ending.ended_by) == ("", "answer")


def test_a_message_and_a_string_mean_the_same():
    assert read_move(Message(role="assistant", content="hi")) == read_move("hi")


async def test_what_is_no_message_is_the_agents_failure():
    with pytest.raises(AgentError, match="returned NoneType"):
        await talk(Says(None))


async def test_an_exception_in_the_agent_is_the_agents_failure_and_earlier_turns_are_kept():
    class Breaks(Says):
        async def reply(self, dialogue):
            if not self.replies:
                raise ValueError("boom")
            return await super().reply(dialogue)

    turns = []
    clock = Clock(5)
    with pytest.raises(AgentError, match="ValueError: boom"):
        await play(TASK, Breaks("what?"), Nods(), max_turns=10, clock=clock, turns=turns)
    assert [(turn.said, turn.human) for turn in turns] == [("what?", "reply 1")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SystemExit(3), "it raised SystemExit: 3"),
        (asyncio.CancelledError(), "it canceled itself"),
        (GeneratorExit(), "it raised GeneratorExit"),
    ],
)
async def test_an_agent_that_ends_the_process_or_cancels_itself_only_failed(error, reason):
    class Ends:
        async def reply(self, dialogue):
            raise error

    with pytest.raises(AgentError, match=reason):
        await talk(Ends())


async def test_a_dialogue_that_is_cancelled_from_outside_is_no_failure():
    class Sleeps:
        async def reply(self, dialogue):
            await asyncio.sleep(60)

    talking = asyncio.create_task(talk(Sleeps()))
    await asyncio.sleep(0.01)
    talking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talking


async def test_lone_surrogates_become_question_marks_wherever_they_come_from():
    class Odd:
        async def respond(self, task, dialogue):
            return Message(role="user", content="a \ud800 b")

    ending, turns = await talk(Says("\udfff?", "I WANT TO ANSWER: '\ud800'"), Odd())
    assert ending.answer == "'?'"
    assert (turns[0].said, turns[0].human) == ("??", "a ? b")


async def test_an_exception_in_the_human_is_the_simulators_failure_and_never_dialogue():
    class Broken:
        async def respond(self, task, dialogue):
            raise KeyError("boom")

    with pytest.raises(SimulatorError, match="KeyError"):
        await talk(Says("what?"), Broken())


async def test_the_side_that_was_awaited_at_the_deadline_failed():
    class Sleeps:
        async def reply(self, dialogue):
            await asyncio.sleep(60)

        async def respond(self, task, dialogue):
            await asyncio.sleep(60)

    with pytest.raises(AgentError, match="no answer in time"):
        await talk(Sleeps(), seconds=0.05)
    with pytest.raises(SimulatorError, match="no answer in time"):
        await talk(Says("what?"), Sleeps(), seconds=0.05)


async def test_an_agent_that_blocks_past_the_deadline_failed_too():
    class Blocks:
        async def reply(self, dialogue):
            time.sleep(0.2)  # noqa: ASYNC251 - the mistake under test
            return "I WANT TO ANSWER: x"

    with pytest.raises(AgentError, match="no answer in time"):
        await talk(Blocks(), seconds=0.05)


async def test_the_human_s_time_is_not_the_agent_s():
    class Slow:
        async def respond(self, task, dialogue):
            await asyncio.sleep(0.2)
            return Message(role="user", content="hm")

    ending, turns = await talk(Says(*["what?"] * 4, "I WANT TO ANSWER: x"), Slow(), seconds=0.5)
    assert (ending.answer, len(turns)) == ("x", 5)


async def test_a_human_may_say_plain_text_and_anything_else_is_its_own_failure():
    class SaysOnly:
        def __init__(self, what):
            self.what = what

        async def respond(self, task, dialogue):
            return self.what

    _, turns = await talk(Says("what?", "I WANT TO ANSWER: x"), SaysOnly("that"))
    assert turns[0].human == "that"
    for wrong in (None, 3, Message(role="user", content=None)):
        with pytest.raises(SimulatorError, match="respond"):
            await talk(Says("what?", "x"), SaysOnly(wrong))


MALFORMED = [
    (Message(role="assistant", content="x", usage=Usage(prompt_tokens=1.5)), "`usage`: Expected"),
    (Message(role="assistant", content="x", usage={}), "`usage` is dict, not Usage"),
    (Message(role="assistant", content="x", thoughts=None), "`thoughts` is NoneType"),
    (
        Message(
            role="assistant",
            content="x",
            sampled=Sampled(prompt=(1,), ids=(2,), logprobs=(float("nan"),)),
        ),
        "`sampled`: Expected `float`, got `null`",
    ),
]


@pytest.mark.parametrize(("message", "reason"), MALFORMED)
async def test_a_message_with_a_wrong_field_fails_its_speaker(message, reason):
    with pytest.raises(AgentError, match=f"malformed Message: {reason}"):
        await talk(Says(message))

    class Malformed:
        async def respond(self, task, dialogue):
            return message

    with pytest.raises(SimulatorError, match=f"malformed Message: {reason}"):
        await talk(Says("what?"), Malformed())
