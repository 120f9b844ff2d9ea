"""Behavior specific to graphs of LangGraph."""

from __future__ import annotations

import asyncio
import io

import pytest
from PIL import Image

from colbench.errors import UserError


@pytest.fixture(autouse=True)
def installed(needs):
    needs("langgraph")


HEAD = """
from typing import Annotated, TypedDict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import interrupt

class State(MessagesState):
    turns: int

def graph_of(node):
    return StateGraph(State).add_node("node", node).set_entry_point("node")
"""


async def test_an_uncompiled_graph_is_compiled(agent_of, dialogues):
    text = "agent = graph_of(lambda state: {'messages': ('assistant', 'hi')})"
    async with dialogues(agent_of(HEAD + text)) as [talk]:
        assert await talk.say("hello") == "hi"
        assert talk.usage is None


COUNTS = """
def count(state):
    turns = state.get("turns", 0) + 1
    return {"turns": turns, "messages": ("assistant", f"{turns} of {len(state['messages'])}")}
"""


async def test_a_checkpointer_keeps_the_whole_state_of_each_dialogue(agent_of, dialogues):
    text = HEAD + COUNTS + "agent = graph_of(count).compile(checkpointer=InMemorySaver())"
    async with dialogues(agent_of(text), 2) as [talk, other]:
        assert await talk.say("hello") == "1 of 1"
        assert await talk.say("hello") == "2 of 3"
        assert await other.say("hello") == "1 of 1"


async def test_a_repeated_dialogue_starts_from_an_empty_state(agent_of, dialogues):
    """Repeat a dialogue as after a kill, with a checkpointer that keeps the earlier messages."""
    text = HEAD + COUNTS + "agent = graph_of(count).compile(checkpointer=InMemorySaver())"
    agent = agent_of(text)
    async with dialogues(agent) as [talk]:
        await talk.say("hello")
        async with type(talk)(agent, 0) as again:
            assert await again.say("hello") == "1 of 1"


async def test_messages_are_kept_without_a_checkpointer(agent_of, dialogues):
    async with dialogues(agent_of(HEAD + COUNTS + "agent = graph_of(count)"), 2) as [talk, other]:
        assert await talk.say("hello") == "1 of 1"
        assert await talk.say("hello") == "1 of 3"
        assert await other.say("hello") == "1 of 1"


async def test_an_interrupt_asks_the_person(agent_of, dialogues):
    text = """
def ask(state):
    answer = interrupt("how many?")
    return {"messages": ("assistant", f"{answer} then")}
agent = graph_of(ask).compile(checkpointer=InMemorySaver())
"""
    async with dialogues(agent_of(HEAD + text)) as [talk]:
        assert await talk.say("boats, please") == "how many?"
        assert await talk.say("three") == "three then"
        assert await talk.say("cars, please") == "how many?"


async def test_async_nodes_run(agent_of, dialogues):
    text = """
async def node(state):
    return {"messages": ("assistant", "hi")}
agent = graph_of(node)
"""
    async with dialogues(agent_of(HEAD + text)) as [talk]:
        assert await talk.say("hello") == "hi"


async def test_blocking_nodes_run_in_parallel(agent_of, dialogues):
    text = """
import threading
barrier = threading.Barrier(20, timeout=30)
def node(state):
    barrier.wait()
    return {"messages": ("assistant", "met")}
agent = graph_of(node)
"""
    async with dialogues(agent_of(HEAD + text), 20) as talks:
        assert await asyncio.gather(*(talk.say("?") for talk in talks)) == ["met"] * 20


async def test_an_exception_in_a_node_is_raised(agent_of, dialogues):
    text = "def node(state):\n    raise ValueError('no idea')\nagent = graph_of(node)"
    async with dialogues(agent_of(HEAD + text)) as [talk]:
        with pytest.raises(ValueError, match="no idea"):
            await talk.say("hello")


def test_a_state_without_messages_is_refused(agent_of):
    text = """
class Other(TypedDict):
    words: str
agent = StateGraph(Other).add_node("node", lambda state: {}).set_entry_point("node")
"""
    with pytest.raises(UserError, match="the state of the graph has no `messages`"):
        agent_of(HEAD + text)


async def test_images_are_passed_to_a_graph_that_accepts_them(agent_of, dialogues):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    text = """
def node(state):
    parts = state["messages"][-1].content
    return {"messages": ("assistant", str([part["type"] for part in parts]))}
agent = graph_of(node).compile()
agent.accepts_images = True
"""
    async with dialogues(agent_of(HEAD + text)) as [talk]:
        assert await talk.say("look", buffer.getvalue()) == "['image_url', 'text']"
