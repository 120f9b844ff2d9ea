"""Behavior specific to agents of smolagents."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from colbench.errors import UserError
from colbench.models.scripted_server import ScriptedServer


@pytest.fixture(autouse=True)
def installed(needs):
    needs("smolagents")


HEAD = """
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent

model = OpenAIModel("scripted", api_base="URL", api_key="k", client_kwargs={"max_retries": 0})
"""
CODE_AGENT = "agent = CodeAgent([], model, verbosity_level=0)"


async def replies(agent_of, dialogues, text, script, *words, images=(), count=1):
    """Return the replies to these messages in a number of dialogues."""
    async with ScriptedServer(script) as server:
        agent = agent_of((HEAD + text).replace("URL", server.base_url))
        async with dialogues(agent, count) as talks:
            return [[await talk.say(said, *images) for said in words] for talk in talks]


def task(messages):
    return messages[-1].content.rpartition("New task:\n")[2]


def code(messages):
    """Add up the numbers that the person says, in a variable of the interpreter."""
    said = task(messages)
    before = "total" if "total" in "".join(m.content for m in messages[1:-1]) else "0"
    return f"Thought: I add.\n<code>\ntotal = {before} + {said}\nfinal_answer(total)\n</code>"


async def test_the_interpreter_of_a_code_agent_keeps_its_variables_for_each_dialogue(
    agent_of, dialogues
):
    said = await replies(agent_of, dialogues, CODE_AGENT, code, "1", "2", "3", count=2)
    assert said == [["1", "3", "6"]] * 2


async def test_the_users_agent_object_is_not_modified(agent_of, dialogues):
    async with ScriptedServer(code) as server:
        agent = agent_of((HEAD + CODE_AGENT).replace("URL", server.base_url))
        async with dialogues(agent) as [talk]:
            await talk.say("1")
    assert agent.own.memory.steps == []
    assert agent.own.monitor.get_total_token_counts().total_tokens == 0


async def test_managed_agents_are_copied_with_their_manager(agent_of, dialogues):
    text = """
helper = ToolCallingAgent([], model, name="helper", description="Helps.", verbosity_level=0)
agent = ToolCallingAgent([], model, managed_agents=[helper], verbosity_level=0)
"""

    def script(messages):
        said = messages[-1].content
        if "You're a helpful agent named 'helper'" in said:
            return json.dumps({"name": "final_answer", "arguments": {"answer": "helped"}})
        if "Observation:" in said.rpartition("New task:")[2]:
            answer = "it " + ("helped" if "helped" in said else "did not help")
            return json.dumps({"name": "final_answer", "arguments": {"answer": answer}})
        return json.dumps({"name": "helper", "arguments": {"task": "help"}})

    said = await replies(agent_of, dialogues, text, script, "hello", count=2)
    assert said == [["it helped"]] * 2


def test_an_executor_that_cannot_be_copied_is_refused(agent_of):
    text = f"{CODE_AGENT}\nagent.executor_type = 'docker'"
    with pytest.raises(UserError, match="leave `executor_type` at 'local'"):
        agent_of(HEAD + text)


def test_an_agent_that_cannot_be_copied_is_refused(agent_of):
    text = f"{CODE_AGENT}\nimport threading\nagent.lock = threading.Lock()"
    with pytest.raises(UserError, match="needs a copy of the agent, and copying fails: TypeError"):
        agent_of(HEAD + text)


async def test_images_are_shown_to_an_agent_that_accepts_them(agent_of, dialogues):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    text = "agent = ToolCallingAgent([], model, verbosity_level=0)\nagent.accepts_images = True"

    def script(messages):
        answer = str(sum(len(message.images) for message in messages))
        return json.dumps({"name": "final_answer", "arguments": {"answer": answer}})

    images = [buffer.getvalue()]
    said = await replies(agent_of, dialogues, text, script, "look", images=images)
    assert said == [["1"]]
