"""Properties of an agent of any framework, with the real libraries and a scripted model server.

If the person says "look up X", the model calls a tool; at "what did I say?", it repeats all that it was given.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import pytest

from colbench.errors import EndpointError, UserError
from colbench.models.scripted_server import Fault, ScriptedServer

TOOL = '''
import threading
barrier = threading.Barrier(1)

def look_up(what: str) -> str:
    """Look something up.

    Args:
        what: The thing.
    """
    barrier.wait(30)
    return what.upper()
'''
OPENAI_AGENTS = """
from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
closing = {"Connection": "close"}  # nothing is left open where nobody closes the client
client = AsyncOpenAI(base_url="URL", api_key="k", max_retries=0, default_headers=closing)
model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
agent = Agent(name="clerk", model=model, tools=[function_tool(look_up)])
"""
LANGGRAPH = """
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = ChatOpenAI(model="scripted", base_url="URL", api_key="k", max_retries=0)
with_tools = model.bind_tools([look_up])

def talk(state: MessagesState):
    return {"messages": with_tools.invoke(state["messages"])}

graph = StateGraph(MessagesState).add_node(talk).add_node(ToolNode([look_up]))
graph.set_entry_point("talk").add_conditional_edges("talk", tools_condition).add_edge("tools", "talk")
agent = graph.compile()
"""
LANGGRAPH_CHECKPOINTED = (
    LANGGRAPH
    + """
from langgraph.checkpoint.memory import InMemorySaver
agent = graph.compile(checkpointer=InMemorySaver())
"""
)
SMOLAGENTS = """
from smolagents import OpenAIModel, ToolCallingAgent, tool

model = OpenAIModel("scripted", api_base="URL", api_key="k", client_kwargs={"max_retries": 0})
agent = ToolCallingAgent([tool(look_up)], model, verbosity_level=0)
"""
TEXTS = {
    "openai-agents": OPENAI_AGENTS,
    "langgraph": LANGGRAPH,
    "langgraph with a checkpointer": LANGGRAPH_CHECKPOINTED,
    "smolagents": SMOLAGENTS,
}
each_framework = pytest.mark.parametrize("framework", TEXTS)


def calls(name, **arguments):
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{name}", "type": "function", "function": call}],
    }


def clerk(messages):
    """Return the model's next message: a tool call for a look-up, and otherwise the text of the reply."""
    last = messages[-1]
    if last.role == "tool":
        return f"found {last.content}"
    if last.content.startswith("look up "):
        return calls("look_up", what=last.content.removeprefix("look up "))
    return " | ".join(message.content for message in messages[:-1])


def smol_clerk(messages):
    """Return the same for smolagents, where a reply is a tool call and the results of tools are user messages."""
    task = messages[-1].content.rpartition("New task:\n")[2]
    if task.startswith("Observation:\n"):
        return calls("final_answer", answer="found " + task.removeprefix("Observation:\n"))
    if task.startswith("look up "):
        return calls("look_up", what=task.removeprefix("look up "))
    return calls("final_answer", answer=" | ".join(m.content for m in messages[1:]))


@pytest.fixture
def made(agent_of, needs):
    """Return a function that makes an agent of a framework, whose model is at a URL."""

    def make(framework, url):
        needs(framework.partition(" ")[0])
        return agent_of((TOOL + TEXTS[framework]).replace("URL", url))

    return make


def module_of(agent):
    """Return the module that holds the object from which the agent was made."""
    return next(m for m in sys.modules.values() if m.__dict__.get("agent") is agent.own)


def serving(framework, **options):
    return ScriptedServer(smol_clerk if framework == "smolagents" else clerk, **options)


@each_framework
async def test_the_last_message_is_the_reply_and_all_requests_are_counted(
    framework, made, dialogues
):
    async with serving(framework) as server:
        async with dialogues(made(framework, server.base_url)) as [talk]:
            assert await talk.say("look up boats") == "found BOATS"
            first = talk.usage
            await talk.say("what did I say?")
            second = talk.usage
    assert (first[2], second[2]) == (2, 1)
    assert len(server.requests) == 3
    assert first[0] > 0
    assert first[1] >= (2 if framework != "smolagents" else 0)
    assert second[0] > 0


@each_framework
async def test_an_agent_remembers_its_own_dialogue_with_its_tools_and_no_other(
    framework, made, dialogues
):
    async with serving(framework) as server:
        async with dialogues(made(framework, server.base_url), 2) as talks:
            for talk, what in zip(talks, ("boats", "cars"), strict=True):
                assert await talk.say(f"look up {what}") == f"found {what.upper()}"
            boats, cars = [await talk.say("what did I say?") for talk in talks]
    assert "look up boats" in boats
    assert boats.count("BOATS") == (3 if framework == "smolagents" else 2)
    assert "cars" not in boats.lower()
    assert "look up cars" in cars
    assert "boats" not in cars.lower()


@each_framework
async def test_blocking_tools_run_in_parallel(framework, made, dialogues):
    """Make each of 20 dialogues wait in its tool for all others."""
    async with serving(framework) as server:
        agent = made(framework, server.base_url)
        module_of(agent).barrier = threading.Barrier(20)
        async with dialogues(agent, 20) as talks:
            replies = await asyncio.gather(*(talk.say("look up x") for talk in talks))
    assert replies == ["found X"] * 20


@each_framework
async def test_an_unreachable_server_is_an_endpoint_error(framework, made, dialogues):
    async with serving(framework) as server:
        url = server.base_url
    async with dialogues(made(framework, url)) as [talk]:
        with pytest.raises(EndpointError, match="Connection"):
            await talk.say("hello")


@each_framework
async def test_a_refused_key_is_a_user_error(framework, made, dialogues):
    async with serving(framework, fault=lambda _: Fault(status=401)) as server:
        async with dialogues(made(framework, server.base_url)) as [talk]:
            with pytest.raises(UserError, match="its model server rejects the key or the model"):
                await talk.say("hello")


@each_framework
async def test_any_other_failure_is_the_agents_own(framework, made, dialogues):
    async with serving(framework, fault=lambda _: Fault(status=400)) as server:
        async with dialogues(made(framework, server.base_url)) as [talk]:
            with pytest.raises(Exception, match="400") as caught:
                await talk.say("hello")
    assert not isinstance(caught.value, (EndpointError, UserError))
