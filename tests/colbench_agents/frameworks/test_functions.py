"""Functions and callable objects as agents: what is accepted, how they run, and who is responsible for a failure."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from colbench.clock import Clock
from colbench.dialogue import play
from colbench.errors import AgentError, EndpointError, UserError
from colbench.facts.human import FactsHuman
from colbench.interfaces import Episode
from colbench.plugins import describe, resolve
from colbench.rollout import read_rollouts
from colbench_agents.frameworks import instructions
from colbench_tasks.bundled import load

ECHO = {
    "a function": "def agent(messages):\n    return messages[-1]['role'] + messages[-1]['content']",
    "an async function": (
        "async def agent(messages):\n    return messages[-1]['role'] + messages[-1]['content']"
    ),
    "a lambda": "agent = lambda messages: messages[-1]['role'] + messages[-1]['content']",
    "a callable object": (
        "class Echo:\n    def __call__(self, messages, **kwargs):\n"
        "        return messages[-1]['role'] + messages[-1]['content']\nagent = Echo()"
    ),
    "an object with an async call": (
        "class Echo:\n    async def __call__(self, messages):\n"
        "        return messages[-1]['role'] + messages[-1]['content']\nagent = Echo()"
    ),
    "a method": (
        "class Echo:\n    def say(self, messages):\n"
        "        return messages[-1]['role'] + messages[-1]['content']\nagent = Echo().say"
    ),
    "a function that builds one": (
        "def agent():\n    return lambda messages: messages[-1]['role'] + messages[-1]['content']"
    ),
}


@pytest.mark.parametrize("kind", ECHO)
async def test_a_callable_is_used_as_an_agent_and_gets_the_messages(kind, agent_of, dialogues):
    async with dialogues(agent_of(ECHO[kind])) as [talk]:
        assert await talk.say("hello") == "userhello"
        assert await talk.say("again") == "useragain"
        assert talk.usage is None


async def test_a_function_gets_the_whole_dialogue(agent_of, dialogues):
    text = (
        "def agent(messages):\n    return ' '.join(m['role'][0] + m['content'] for m in messages)"
    )
    async with dialogues(agent_of(text)) as [talk]:
        await talk.say("1")
        assert await talk.say("2") == "u1 au1 u2"


async def test_further_parameters_come_from_agent_args(agent_of, dialogues):
    text = "def agent(messages, greeting, times=1):\n    return greeting * times"
    async with dialogues(agent_of(text, greeting="hi", times=2)) as [talk]:
        assert await talk.say("?") == "hihi"


async def test_a_class_like_collabllms_is_built_with_the_agent_args(agent_of, dialogues):
    text = """
class agent:
    def __init__(self, method="none", **llm_kwargs):
        self.said = f"{method} {llm_kwargs}"

    def __call__(self, messages, **kwargs):
        assert messages[-1]["role"] == "user"
        return self.said
"""
    async with dialogues(agent_of(text, method="proact", model="m")) as [talk]:
        assert await talk.say("?") == "proact {'model': 'm'}"


def test_agent_args_for_an_instance_are_refused(agent_of):
    with pytest.raises(UserError, match="is an instance and takes no --agent-arg"):
        agent_of("class A:\n    async def reply(self, d): ...\nagent = A()", volume=3)


def test_a_function_that_needs_no_messages_is_refused_with_the_reason(agent_of):
    with pytest.raises(
        UserError, match="no method `reply`; an agent function takes the messages as"
    ):
        agent_of("def agent(messages=None):\n    return 'hi'")


def test_a_user_class_is_not_mistaken_for_a_framework_agent(agent_of):
    text = "class Mine:\n    pass\nMine.__module__ = 'agents.mine'\nagent = Mine()"
    with pytest.raises(UserError, match="agents.mine:Mine has no method `reply`"):
        agent_of(text)


def test_the_agents_name_and_the_hash_of_its_file_are_recorded(agent_of, tmp_path):
    first = describe(agent_of("def agent(messages): ..."))
    assert first["own"] == f"agent_{tmp_path.name}:agent"
    assert first["source"].startswith("sha256:")
    assert describe(agent_of("def agent(messages): 1"))["source"] != first["source"]


async def test_blocking_calls_run_in_parallel(agent_of, dialogues):
    """Make each of 40 calls wait for all others: none would return if any had to wait for its turn."""
    text = """
import threading
barrier = threading.Barrier(40, timeout=30)
def agent(messages):
    barrier.wait()
    return "met"
"""
    async with dialogues(agent_of(text), 40) as talks:
        assert await asyncio.gather(*(talk.say("?") for talk in talks)) == ["met"] * 40


async def test_a_blocking_async_function_does_not_stop_the_run(agent_of, dialogues):
    """Check with a function that returns only once the run has continued."""
    text = """
import threading
went_on = threading.Event()
async def agent(messages):
    return str(went_on.wait(30))
"""
    agent = agent_of(text)
    async with dialogues(agent) as [talk]:
        reply = asyncio.ensure_future(talk.say("?"))
        await asyncio.sleep(0.05)
        sys.modules[agent.own.__module__].went_on.set()
        assert await reply == "True"


async def converse(agent, seconds=10.0):
    """Have a dialogue about a bundled task; raise what a run would see."""
    clock = Clock(seconds)
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=3)) as speaker:
        return await play(
            load("backend")[0],
            speaker,
            FactsHuman(),
            max_turns=3,
            clock=clock,
            turns=[],
        )


RAISES = "def agent(messages):\n    import urllib.error, asyncio\n    raise "


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        (RAISES + "ValueError('no idea')", AgentError, "ValueError: no idea"),
        (RAISES + "SystemExit(3)", AgentError, "SystemExit"),
        (RAISES + "KeyboardInterrupt", AgentError, "KeyboardInterrupt"),
        (RAISES + "asyncio.CancelledError", AgentError, "canceled itself"),
        ("async " + RAISES + "SystemExit(3)", AgentError, "SystemExit"),
        ("async " + RAISES + "asyncio.CancelledError", AgentError, "canceled itself"),
        ("def agent(messages):\n    return 3", AgentError, "returned int; it must return"),
        ("async def agent(messages): ...", AgentError, "returned NoneType"),
        (RAISES + "TimeoutError('own limit')", AgentError, "^TimeoutError: own limit"),
        (RAISES + "ConnectionRefusedError('gone')", EndpointError, "gone"),
        (RAISES + "urllib.error.URLError('gone')", EndpointError, "gone"),
    ],
)
async def test_a_failure_has_an_error_type_and_a_reason(text, error, reason, agent_of):
    with pytest.raises(error, match=reason):
        await converse(agent_of(text))


@pytest.mark.parametrize("text", ["def agent(m):", "async def agent(m):"])
async def test_a_function_that_hangs_runs_out_of_time(text, agent_of):
    hangs = f"import threading\n{text}\n    threading.Event().wait()"
    with pytest.raises(AgentError, match="no answer in time"):
        await converse(agent_of(hangs), seconds=0.2)


HOLDS_UP = """
import time, threading
begun = 0
async def agent(messages):
    global begun
    begun += 1
    if begun == 2:
        HOLD
    return "I WANT TO ANSWER: x"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hold", "others"),
    [
        ("while True: pass", 0),
        pytest.param("threading.Event().wait()", None, marks=pytest.mark.weekly),
    ],
)
def test_a_blocking_async_function_is_located_and_the_run_ends(tmp_path: Path, hold, others):
    """Check that running code is interrupted; a system call is not, and it takes the other dialogues with it."""
    (tmp_path / "holds.py").write_text(HOLDS_UP.replace("HOLD", hold))
    command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", "holds.py:agent"]
    flags = ["--dialogue-timeout", "1.5", "--limit", "5", "--out", "run"]
    ended = subprocess.run(
        [*command, *flags], cwd=tmp_path, timeout=60, check=False, capture_output=True
    )
    rollouts = read_rollouts(tmp_path / "run" / "rollouts.jsonl")
    reasons = [rollout.failure.reason for rollout in rollouts if rollout.failure]
    assert any("holds.py:8 blocked the event loop" in reason for reason in reasons)
    assert others is None or len(reasons) == 1 + others
    assert ended.returncode == (len(reasons) == len(rollouts)), ended.stderr


@pytest.mark.slow
def test_a_run_with_a_function_that_hangs_ends(tmp_path: Path):
    (tmp_path / "hangs.py").write_text(
        "import threading\ndef agent(messages):\n    threading.Event().wait()\n"
    )
    command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", "hangs.py:agent"]
    flags = ["--dialogue-timeout", "0.2", "--limit", "2", "--out", "run"]
    ended = subprocess.run(
        [*command, *flags], cwd=tmp_path, timeout=100, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 1, ended.stderr
    assert "agent failed 2 no answer in time" in " ".join(ended.stdout.split())


async def test_images_are_passed_to_a_function_that_accepts_them(agent_of, dialogues):
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    text = (
        "def agent(messages):\n    return str([part['type'] for part in messages[-1]['content']])"
    )
    agent = agent_of(text + "\nagent.accepts_images = True\nagent.domains = ('frontend',)")
    assert (agent.accepts_images, agent.domains) == (True, ("frontend",))
    async with dialogues(agent) as [talk]:
        assert await talk.say("look", buffer.getvalue()) == "['image_url', 'text']"


async def test_using_an_agent_outside_its_context_is_an_error(agent_of):
    agent = agent_of(ECHO["a function"])
    async with agent.open(Episode(id="e", seed=1, max_turns=3)) as speaker:
        with pytest.raises(RuntimeError, match="inside `async with`"):
            await speaker.reply(())


def test_the_instructions_are_those_of_the_built_in_agent_with_turn_limit():
    assert "You have 7 messages in all" in instructions(max_turns=7)
    assert "tailwind" in instructions("frontend")
    assert "{" not in instructions()


def test_a_missing_attribute_is_a_user_error(tmp_path):
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(UserError, match="has no `agent`"):
        resolve("agent", f"{tmp_path / 'empty.py'}:agent", {})
