"""Behavior specific to agents of the OpenAI Agents SDK."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from colbench.errors import AgentError
from colbench.models.scripted_server import ScriptedServer


@pytest.fixture(autouse=True)
def installed(needs):
    needs("openai-agents")


CLIENT = """
from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
closing = {"Connection": "close"}
client = AsyncOpenAI(base_url="URL", api_key="k", max_retries=0, default_headers=closing)
model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
"""


async def requests(agent_of, dialogues, text, script, *words, images=()):
    """Return the requests to the model in a dialogue with these messages, and the replies."""
    async with ScriptedServer(script) as server:
        async with dialogues(agent_of((CLIENT + text).replace("URL", server.base_url))) as [talk]:
            replies = [await talk.say(said, *images) for said in words]
    return server.requests, replies


async def test_instructions_can_read_the_episode(agent_of, dialogues):
    text = """
def told(context, agent):
    return f"{context.context.max_turns} turns, {context.context.domain}"
agent = Agent(name="a", instructions=told, model=model)
"""
    [request], _ = await requests(agent_of, dialogues, text, lambda _: "hi", "hello")
    assert request["messages"][0] == {"role": "system", "content": "7 turns, backend"}


async def test_an_agent_that_takes_over_by_handoff_keeps_the_dialogue(agent_of, dialogues):
    text = """
second = Agent(name="second", instructions="I am second.", model=model)
agent = Agent(name="first", instructions="I am first.", model=model, handoffs=[second])
"""

    def script(messages):
        if messages[0].content == "I am second.":
            return "second here"
        call = {"name": "transfer_to_second", "arguments": json.dumps({})}
        tool_calls = [{"id": "call_1", "type": "function", "function": call}]
        return {"role": "assistant", "content": None, "tool_calls": tool_calls}

    sent, replies = await requests(agent_of, dialogues, text, script, "hello", "and now?")
    assert replies == ["second here"] * 2
    systems = [request["messages"][0]["content"] for request in sent]
    assert systems == ["I am first.", "I am second.", "I am second."]


async def test_an_output_that_is_not_text_is_an_agent_error(agent_of, dialogues):
    text = "agent = Agent(name='a', model=model, output_type=list[int])"
    with pytest.raises(AgentError, match="its output is a list, not text; remove `output_type`"):
        await requests(agent_of, dialogues, text, lambda _: '{"response": [1, 2]}', "hello")


async def test_images_are_shown_to_an_agent_that_accepts_them(agent_of, dialogues):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    text = "agent = Agent(name='a', model=model)\nagent.accepts_images = True"
    [request], _ = await requests(
        agent_of,
        dialogues,
        text,
        lambda m: str(len(m[-1].images)),
        "look",
        images=[buffer.getvalue()],
    )
    kinds = [part["type"] for part in request["messages"][-1]["content"]]
    assert kinds == ["image_url", "text"]
