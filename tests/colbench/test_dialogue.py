"""The semantics of a dialogue: markers, the private part, the turn limit, and whose failure an error is."""

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


class ScriptedAgent:
    """An agent that gives its replies in order and keeps the messages it was shown."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.shown = []

    async def reply(self, dialogue):
        self.shown.append([(m.role, m.content) for m in dialogue])
        return self.replies.pop(0)


class CountingHuman:
    async def respond(self, task, dialogue):
        return Message(role="user", content=f"reply {len(dialogue) // 2}")


async def talk(agent, human=None, max_turns=10, seconds=5.0):
    turns = []
    clock = Clock(seconds)
    ending = await play(
        TASK, agent, human or CountingHuman(), max_turns=max_turns, clock=clock, turns=turns
    )
    return ending, turns


async def test_the_marker_ends_the_dialogue_and_the_text_after_it_is_the_answer():
    ending, turns = await talk(
        ScriptedAgent("what?", "Thanks. I WANT TO ANSWER:\n def f(): return 1\n")
    )
    assert (ending.answer, ending.ended_by) == ("def f(): return 1", "answer")
    assert [turn.human for turn in turns] == ["reply 1", None]
    assert turns[1].said == "Thanks."


async def test_the_agent_sees_the_request_and_then_all_messages():
    agent = ScriptedAgent("what?", "and?", "I WANT TO ANSWER: x")
    await talk(agent)
    assert agent.shown[2] == [
        ("user", "please"),
        ("assistant", "what?"),
        ("user", "reply 1"),
        ("assistant", "and?"),
        ("user", "reply 2"),
    ]


async def test_only_the_text_after_output_is_shown_and_the_raw_reply_is_kept():
    agent = ScriptedAgent("secret thought OUTPUT: what?", "I WANT TO ANSWER: x")
    _, turns = await talk(agent)
    assert turns[0].raw == "secret thought OUTPUT: what?"
    assert turns[0].said == "what?"
    assert ("assistant", "what?") in agent.shown[1]


async def test_thoughts_and_the_text_before_output_are_private():
    first = "<think>After OUTPUT: comes my question.</think>Ask now. OUTPUT: what?"
    second = "<think>I WANT TO ANSWER: soon</think>why?"
    _, turns = await talk(ScriptedAgent(first, second, "I WANT TO ANSWER: x"))
    private = [turn.private for turn in turns]
    assert private == [
        "After OUTPUT: comes my question.\n\nAsk now.",
        "I WANT TO ANSWER: soon",
        "",
    ]
    assert [turn.said for turn in turns] == ["what?", "why?", ""]


async def test_a_marker_in_the_private_part_does_not_end_the_dialogue():
    ending, turns = await talk(
        ScriptedAgent("I WANT TO ANSWER: soon OUTPUT: why?", "I WANT TO ANSWER: x")
    )
    assert len(turns) == 2
    assert ending.answer == "x"


async def test_the_whole_last_message_is_the_answer_at_the_turn_limit():
    ending, turns = await talk(ScriptedAgent("one", "two", "def f(): return 1"), max_turns=3)
    assert (ending.answer, ending.ended_by) == ("def f(): return 1", "limit")
    assert [turn.human for turn in turns] == ["reply 1", "reply 2", None]


async def test_a_marker_in_the_last_turn_counts_as_an_answer():
    ending, _ = await talk(ScriptedAgent("one", "here: I WANT TO ANSWER: x"), max_turns=2)
    assert (ending.answer, ending.ended_by) == ("x", "answer")


async def test_an_empty_answer_is_accepted():
    ending, _ = await talk(ScriptedAgent("I WANT TO ANSWER:"))
    assert (ending.answer, ending.ended_by) == ("", "answer")


def test_a_message_and_its_text_are_read_as_the_same_move():
    assert read_move(Message(role="assistant", content="hi")) == read_move("hi")


async def test_a_reply_of_the_wrong_type_is_the_agents_failure():
    with pytest.raises(AgentError, match="returned NoneType"):
        await talk(ScriptedAgent(None))


async def test_an_exception_in_the_agent_is_its_failure_and_earlier_turns_are_kept():
    class Breaks(ScriptedAgent):
        async def reply(self, dialogue):
            if not self.replies:
                raise ValueError("boom")
            return await super().reply(dialogue)

    turns = []
    clock = Clock(5)
    with pytest.raises(AgentError, match="ValueError: boom"):
        await play(TASK, Breaks("what?"), CountingHuman(), max_turns=10, clock=clock, turns=turns)
    assert [(turn.said, turn.human) for turn in turns] == [("what?", "reply 1")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SystemExit(3), "the code raised SystemExit: 3"),
        (asyncio.CancelledError(), "the code canceled itself"),
        (GeneratorExit(), "the code raised GeneratorExit"),
    ],
)
async def test_an_agent_that_exits_or_cancels_itself_fails_only_its_dialogue(error, reason):
    class Ends:
        async def reply(self, dialogue):
            raise error

    line = Ends.reply.__code__.co_firstlineno + 1
    with pytest.raises(AgentError, match=rf"{reason} \(test_dialogue.py:{line}\)"):
        await talk(Ends())


async def test_cancellation_from_outside_is_not_a_failure():
    class Sleeps:
        async def reply(self, dialogue):
            await asyncio.sleep(60)

    talking = asyncio.create_task(talk(Sleeps()))
    await asyncio.sleep(0.01)
    talking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talking


async def test_lone_surrogates_from_agent_and_human_become_question_marks():
    class Odd:
        async def respond(self, task, dialogue):
            return Message(role="user", content="a \ud800 b")

    ending, turns = await talk(ScriptedAgent("\udfff?", "I WANT TO ANSWER: '\ud800'"), Odd())
    assert ending.answer == "'?'"
    assert (turns[0].said, turns[0].human) == ("??", "a ? b")


async def test_an_exception_in_the_human_is_the_simulators_failure():
    class Broken:
        async def respond(self, task, dialogue):
            raise KeyError("boom")

    with pytest.raises(SimulatorError, match="KeyError"):
        await talk(ScriptedAgent("what?"), Broken())


async def test_the_side_awaited_at_the_deadline_fails():
    class Sleeps:
        async def reply(self, dialogue):
            await asyncio.sleep(60)

        async def respond(self, task, dialogue):
            await asyncio.sleep(60)

    with pytest.raises(AgentError, match="no answer in time"):
        await talk(Sleeps(), seconds=0.05)
    with pytest.raises(SimulatorError, match="no answer in time"):
        await talk(ScriptedAgent("what?"), Sleeps(), seconds=0.05)


async def test_an_agent_that_blocks_past_the_deadline_fails():
    class Blocks:
        async def reply(self, dialogue):
            time.sleep(0.2)  # noqa: ASYNC251 - the mistake under test
            return "I WANT TO ANSWER: x"

    with pytest.raises(AgentError, match="no answer in time"):
        await talk(Blocks(), seconds=0.05)


async def test_the_humans_time_does_not_count_against_the_agent():
    class Slow:
        async def respond(self, task, dialogue):
            await asyncio.sleep(0.2)
            return Message(role="user", content="hm")

    ending, turns = await talk(
        ScriptedAgent(*["what?"] * 4, "I WANT TO ANSWER: x"), Slow(), seconds=0.5
    )
    assert (ending.answer, len(turns)) == ("x", 5)


async def test_a_human_may_reply_with_text_and_other_types_are_its_failure():
    class SaysOnly:
        def __init__(self, what):
            self.what = what

        async def respond(self, task, dialogue):
            return self.what

    _, turns = await talk(ScriptedAgent("what?", "I WANT TO ANSWER: x"), SaysOnly("that"))
    assert turns[0].human == "that"
    for wrong in (None, 3, Message(role="user", content=None)):
        with pytest.raises(SimulatorError, match="respond"):
            await talk(ScriptedAgent("what?", "x"), SaysOnly(wrong))


MALFORMED = [
    (Message(role="assistant", content="x", usage=Usage(prompt_tokens=1.5)), "`usage`: Expected"),
    (Message(role="assistant", content="x", usage=Usage(prompt_tokens=-5)), "`usage`: Expected"),
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
async def test_a_message_with_an_invalid_field_is_its_speakers_failure(message, reason):
    with pytest.raises(AgentError, match=f"malformed Message: {reason}"):
        await talk(ScriptedAgent(message))

    class Malformed:
        async def respond(self, task, dialogue):
            return message

    with pytest.raises(SimulatorError, match=f"malformed Message: {reason}"):
        await talk(ScriptedAgent("what?"), Malformed())
