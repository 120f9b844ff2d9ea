"""Agents over stdin and stdout: every fault is the agent's, with its reason, and no process is left running."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import re
import resource
import shlex
import sys
from pathlib import Path

import pytest

from colbench.agent_process.process import AgentProcess
from colbench.clock import Clock
from colbench.errors import AgentError, EndpointError, UserError
from colbench.interfaces import Episode
from colbench.messages import Message
from colbench.plugins import describe, resolve
from colbench_agents.stdio_agent import StdioAgent

FAULTY = Path(__file__).with_name("faulty_agent.py")
ASKED = [Message(role="user", content="def f(x)?")]


def command(fault: str, *more: str) -> str:
    return shlex.join([sys.executable, "-S", str(FAULTY), fault, *more])


def faulty(fault: str, *more: str) -> StdioAgent:
    return StdioAgent(command(fault, *more))


@pytest.mark.parametrize(("fault", "processes"), [("alone", 3), ("shared", 1)])
async def test_only_a_concurrent_agent_uses_one_process_for_all_dialogues(
    play, name, fault, processes
):
    done = await play(faulty(fault, name.word), dialogues=3)
    assert [rollout.turns[0].said for rollout in done] == ["Is there a limit?"] * 3
    assert len({int(rollout.answer) for rollout in done}) == processes, "they answer with its id"
    assert name.processes() == []


async def test_an_agent_that_accepts_images_gets_them_as_data_urls():
    agent = faulty("sees")
    page = Message(role="user", content="Like this.", images=(b"\x89PNG",))
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)) as own:
        assert agent.accepts_images
        assert own.accepts_images
        assert (await own.reply([page])).content == "data:image/png;base64,iVBORw=="


async def test_each_request_states_the_seconds_left_in_the_dialogue():
    agent, clock = faulty("tells-time"), Clock(30.0)
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)) as own:
        first, second = [await clock.hear(lambda: own.reply(ASKED)) for _ in range(2)]
        without = await own.reply(ASKED)
    assert 30 >= float(first.content) > float(second.content) > 0
    assert without.content == "null"


async def test_no_more_processes_run_than_dialogues_are_in_flight(play, name):
    most = 0

    async def watch():
        nonlocal most
        while True:
            most = max(most, len(name.processes()))
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    await play(faulty("none", name.word), dialogues=6, concurrency=2)
    watching.cancel()
    assert 2 <= most <= 4, "two agents, a watchdog each"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crashes", "ended with code 3; end of its standard error: the weights are gone"),
        ("is-killed", "signal 9 ended it"),
        ("exits-with-255", "ended with code 255"),
        ("half-a-line", 'ended with code 0 in the middle of a line: {"type": "reply", "e'),
        ("garbage", "invalid message, .*: Loading checkpoint shards: 100%"),
        ("no-utf-8", "invalid message, .*invalid start byte"),
        ("number-for-text", "Expected `str`, got `int` - at `\\$.content`"),
        ("deep", "invalid message, .*recursion"),
        ("100-mb", "a line of more than 4194304 bytes"),
        (
            "other-episode",
            "its reply names episode 'another', but the request was for episode '[0-9a-f]{16}'",
        ),
        ("ready-again", "`ready` instead of `reply` or `error`"),
        ("closes-output", "closed its standard output"),
        ("gives-up", "it says: too hard"),
    ],
)
async def test_a_fault_fails_its_dialogue_with_the_reason(play, name, fault, reason):
    (done,) = await play(faulty(fault, name.word))
    assert done.failure
    assert done.failure.boundary == "agent"
    assert re.search(reason, done.failure.reason), done.failure.reason
    assert done.scores["default"].value == 0.0
    assert name.processes() == []


@pytest.mark.parametrize("fault", ["hangs", "half-a-line-and-hangs", "never-reads"])
async def test_a_silent_agent_fails_when_the_dialogue_time_is_up(play, name, fault):
    (done,) = await play(faulty(fault, name.word), seconds=0.5, request="x" * 1_000_000)
    assert done.failure
    assert (done.failure.boundary, done.failure.reason) == ("agent", "no answer in time")
    assert name.processes() == []


async def test_a_reported_model_server_failure_leaves_the_dialogue_unscored(play):
    (done,) = await play(faulty("wants-a-retry"))
    assert done.failure
    assert (done.failure.boundary, done.scores) == ("endpoint", {})
    assert done.failure.reason == "it says: no model server"


async def test_a_mistake_of_the_user_stops_the_run_and_names_the_flag(play):
    with pytest.raises(UserError, match="^--agent: it says: set MY_KEY$"):
        await play(faulty("has-no-key"))


async def test_an_unrequested_reply_is_an_agent_error():
    agent = faulty("says-it-twice")
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)) as own:
        await own.reply(ASKED)
        with pytest.raises(
            AgentError, match="its reply names episode 'e', but no request was pending"
        ):
            await request_until_failure(own)


async def test_closed_standard_input_is_an_agent_error():
    agent = faulty("closes-input")
    async with agent, agent.open(Episode(id="e", seed=1, max_turns=10)) as own:
        await own.reply(ASKED)
        with pytest.raises(AgentError, match="it closed its standard input"):
            await request_until_failure(own)


async def request_until_failure(own):
    """Send requests repeatedly, because the fault comes some time after the reply."""
    for _ in range(200):
        async with asyncio.timeout(20):
            await asyncio.sleep(0.05)
            await own.reply(ASKED)
    pytest.fail("it never failed")


@pytest.mark.parametrize("fault", ["crashes", "garbage", "100-mb", "other-episode"])
async def test_a_failing_shared_process_fails_every_dialogue_and_leaves_no_process(
    play, name, fault
):
    done = await play(faulty(fault, name.word, "shared"), dialogues=6, concurrency=3)
    assert [rollout.failure.boundary for rollout in done if rollout.failure] == ["agent"] * 6
    assert name.processes() == []


async def test_a_crashed_shared_process_is_followed_by_another(play, tmp_path):
    agent = faulty("crashes-once", str(tmp_path / "crashed"), "shared")
    done = await play(agent, dialogues=3, concurrency=1)
    by_task = {rollout.task_id: rollout for rollout in done}
    assert by_task.pop("t0").failure.reason == "it ended with code 3"
    assert [rollout.answer for rollout in by_task.values()] == ["x = 1"] * 2


async def test_a_timed_out_dialogue_does_not_affect_the_next_in_its_process(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW)
    agent = StdioAgent(shlex.join([sys.executable, "-S", str(slow)]))
    facts = {"seed": 1, "max_turns": 10}
    async with agent:
        async with agent.open(Episode(id="slow", **facts)) as own:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await own.reply(ASKED)
        async with agent.open(Episode(id="next", **facts)) as own:
            assert (await own.reply(ASKED)).content == "next"


SLOW = """
import json, sys, time

print(json.dumps({"type": "ready", "protocol": "colbench-agent/1", "name": "slow", "concurrent": True}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "messages":
        time.sleep(0.5)
        episode = message["episode"]
        print(json.dumps({"type": "reply", "episode": episode, "content": episode}), flush=True)
"""


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crashes-at-start", "ended with code 1; end of its standard error: no model here"),
        ("has-no-key-at-start", "^--agent: it says: set MY_KEY$"),
        ("replies-first", "first message must be `ready`"),
        ("other-version", "is 'colbench-agent/2', but this ColBench needs 'colbench-agent/1'"),
        ("silent-at-start", "not ready within 1 s"),
    ],
)
def test_an_agent_that_does_not_get_ready_is_refused_before_the_run(name, fault, reason, caplog):
    gc.collect()  # otherwise, what an earlier test left behind is recorded in this one
    caplog.clear()
    seconds = 1.0 if fault == "silent-at-start" else 60.0
    agent = resolve("agent", f"cmd:{command(fault, name.word)}", {"startup_timeout": seconds})
    with pytest.raises(UserError, match=reason):
        describe(agent)
    assert name.processes() == []
    gc.collect()
    assert not caplog.records, "what comes too late is let go"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("./nowhere --flag", "the program ./nowhere was not found"),
        ("", "name a program after `cmd:`, for example cmd:./my_agent --flag"),
        ("'half", "cannot be split into words"),
        (str(FAULTY), f"not executable; run chmod \\+x {FAULTY}"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_at_once(given, said):
    with pytest.raises(UserError, match=f"--agent cmd:.*{said}"):
        resolve("agent", f"cmd:{given}", {})


def test_a_program_that_the_system_cannot_run_is_refused_before_the_run(tmp_path):
    broken = tmp_path / "agent"
    broken.write_bytes(b"\x7fELF, or so")
    broken.chmod(0o755)
    with pytest.raises(
        UserError, match="ended with code 127; end of its standard error: .*Exec format error"
    ):
        describe(StdioAgent(str(broken)))


async def test_too_many_open_files_at_the_start_is_an_endpoint_error():
    process = AgentProcess(["true"], print)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        with pytest.raises(EndpointError, match="could not be started: Too many open files"):
            await process.start(10.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_agent_is_pinned_by_its_command_its_ready_message_and_its_files():
    assert describe(faulty("none")) == {
        "class": "colbench_agents.stdio_agent:StdioAgent",
        "protocol": "colbench-agent/1",
        "name": "faulty",
        "version": "7",
        "accepts_images": "false",
        "command": command("none"),
        "files": ",".join(
            "sha256:" + hashlib.sha256(Path(file).read_bytes()).hexdigest()
            for file in (sys.executable, FAULTY)
        ),
    }
