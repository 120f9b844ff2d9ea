"""The vLLM server manager, with a stand-in executable that starts and lingers like vLLM."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import pytest

from colbench.errors import UserError
from colbench.interfaces import Episode
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench_agents.vllm import VLLMAgent, VLLMHuman
from colbench_agents.vllm_server import VLLMServer, as_flags, find_vllm, tail

STAND_IN = Path(__file__).parents[1] / "e2e" / "stand_in_vllm.py"
HARNESS = """
import asyncio, sys
from colbench_agents.vllm_server import VLLMServer

async def main():
    async with VLLMServer(sys.argv[1]):
        print("up", flush=True)
        for _ in range(600):  # a signal just before a long wait is only seen after it
            await asyncio.sleep(0.1)

asyncio.run(main())
"""

SLOW_HUMAN = """
import asyncio

class Slow:
    async def respond(self, task, dialogue):
        await asyncio.sleep(60)
"""


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLBENCH_VLLM", str(STAND_IN))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # read TMPDIR again


@pytest.fixture
def model() -> str:
    """Return a name that no other process on the machine has on its command line."""
    return f"model-{uuid4()}"


def processes_of(model: str) -> list[int]:
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"serve" in (words := cmdline.read_bytes().split(b"\0")) and model.encode() in words:
                found.append(int(cmdline.parent.name))
        except OSError:
            continue
    return found


def wait_until_ended(model: str, seconds: float = 20.0) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := processes_of(model)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


async def test_a_server_runs_inside_its_context_and_ends_with_its_children(
    model: str, tmp_path: Path
):
    async with VLLMServer(model, log=tmp_path / "log") as server:
        async with OpenAIChat(f"{model}@{server.base_url}"):
            """Entering the client checks that the server answers and has the model."""
        assert len(processes_of(model)) == 3, "the watchdog, the server and its child"
    assert processes_of(model) == []
    assert "stand-in: serve" in (tmp_path / "log").read_text()


async def test_other_arguments_become_server_flags(model: str, tmp_path: Path):
    log = tmp_path / "log"
    async with VLLMServer(model, log=log, tensor_parallel_size=8, enforce_eager=True) as server:
        assert server.model == model
    first = log.read_text().splitlines()[0]
    assert first.endswith(" --tensor-parallel-size=8 --enforce-eager")


async def test_generation_config_is_vllm_unless_set_otherwise(model: str, tmp_path: Path):
    for log, changes, expected in (
        (tmp_path / "one", {}, "vllm"),
        (tmp_path / "other", {"generation_config": "auto"}, "auto"),
    ):
        async with VLLMServer(model, log=log, **changes):
            pass
        assert log.read_text().count(f"--generation-config={expected}") == 1
        assert log.read_text().count("--generation-config") == 1


def test_true_is_a_bare_flag_and_false_its_negation():
    assert as_flags({"enforce_eager": True, "enable_prefix_caching": False, "seed": 0}) == [
        "--enforce-eager",
        "--no-enable-prefix-caching",
        "--seed=0",
    ]


def test_the_served_model_name_is_the_model_to_request(model: str):
    assert VLLMServer(model, served_model_name="mine").model == "mine"


async def test_waiting_for_the_start_is_reported(model: str, caplog: pytest.LogCaptureFixture):
    server = VLLMServer(model, seconds_to_start=1.5)
    server.progress_interval = 0.5
    with caplog.at_level(logging.INFO, "colbench"):
        async with server:
            pass
    assert f"starting, 1 s: stand-in: serve {model}" in caplog.text
    assert "vLLM is up after" in caplog.text


async def test_a_server_that_exits_is_reported_with_its_last_log_line(model: str, tmp_path: Path):
    log = tmp_path / "log"
    with pytest.raises(UserError) as failed:
        async with VLLMServer(model, log=log, dies=True):
            pytest.fail("it never was up")
    assert "exited with code 3" in str(failed.value)
    assert str(log) in str(failed.value)
    assert str(failed.value).endswith("\n  out of memory: no room for the weights")
    assert processes_of(model) == [], "the child that the dead server left behind"


async def test_a_server_that_starts_too_slowly_is_stopped(model: str):
    with pytest.raises(UserError, match=r"did not start within 0\.5 s.*startup_timeout=SECONDS"):
        async with VLLMServer(model, startup_timeout=0.5, seconds_to_start=60):
            pytest.fail("it never was up")
    assert processes_of(model) == []


async def test_an_exception_inside_stops_the_server(model: str):
    with pytest.raises(ZeroDivisionError):
        async with VLLMServer(model):
            raise ZeroDivisionError
    assert processes_of(model) == []


async def test_the_temporary_log_is_kept_only_after_a_failure(model: str):
    async with VLLMServer(model) as server:
        assert server.log is not None
        assert "stand-in" in server.log.read_text()
    assert not server.log.exists()
    failing = VLLMServer(model, dies=True)
    with pytest.raises(UserError):
        await failing.__aenter__()
    assert failing.log is not None
    assert failing.log.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_killed_harness(model: str, number: signal.Signals):
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, model],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        assert len(processes_of(model)) == 3
        harness.send_signal(number)
        assert harness.wait(20) != 0
    assert wait_until_ended(model) == []


async def test_no_process_outlives_a_terminated_watchdog(model: str):
    async with VLLMServer(model):
        watchdog = min(processes_of(model))
        os.kill(watchdog, signal.SIGTERM)
        assert wait_until_ended(model) == []


@pytest.mark.slow
async def test_a_server_that_ignores_the_request_to_stop_is_killed(model: str):
    async with VLLMServer(model, stubborn=True):
        pass
    assert processes_of(model) == []


@pytest.mark.parametrize("moment", ["starting", "up"])
def test_a_signal_ends_the_run_within_ten_seconds_and_the_server_after_it(
    model: str, tmp_path: Path, moment: str
):
    """Check that the run does not wait for the server's end, which the watchdog brings about."""
    (tmp_path / "human.py").write_text(SLOW_HUMAN)
    args = {"stubborn": "true"} | ({"seconds_to_start": "60"} if moment == "starting" else {})
    flags = [f"--agent-arg={name}={value}" for name, value in args.items()]
    command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", f"vllm:{model}", *flags]
    with subprocess.Popen(
        [*command, "--human", f"{tmp_path}/human.py:Slow", "--out", str(tmp_path / "run")],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as harness:
        assert harness.stderr is not None
        awaited = "starting vLLM" if moment == "starting" else "vLLM is up"
        while awaited not in harness.stderr.readline():
            assert harness.poll() is None
        time.sleep(0.5)
        start = time.monotonic()
        harness.send_signal(signal.SIGTERM)
        assert harness.wait(20) == 128 + signal.SIGTERM
        assert time.monotonic() - start < 10
    assert wait_until_ended(model, 30) == []


async def test_a_server_starts_once_its_port_is_free(model: str):
    with socket.create_server(("127.0.0.1", 0)) as other:
        server = VLLMServer(model, port=other.getsockname()[1])
        starting = asyncio.create_task(server.__aenter__())
        await asyncio.sleep(0.1)
        assert not starting.done()
        assert processes_of(model) == []
    await starting
    assert processes_of(model) != []
    await server.__aexit__(None)


async def test_a_port_that_stays_in_use_is_named_in_the_error(model: str):
    with socket.create_server(("127.0.0.1", 0)) as other:
        server = VLLMServer(model, port=other.getsockname()[1])
        server.port_timeout = 0.2
        with pytest.raises(UserError, match=f"port {server.port} is in use"):
            await server.__aenter__()


async def test_the_agent_gets_replies_from_the_model_of_its_own_server(model: str):
    async with VLLMAgent(model, max_tokens=32) as agent:
        async with agent.open(Episode(id="1", seed=0, max_turns=10)) as speaker:
            said = await speaker.reply([Message(role="user", content="hello")])
        assert isinstance(said, Message)
        assert said.content == "You said: hello"
        assert said.usage is not None
    assert processes_of(model) == []


async def test_a_server_that_dies_during_the_run_stops_it_with_its_log(model: str, tmp_path: Path):
    async with VLLMAgent(model, log=str(tmp_path / "log")) as agent:
        _, server, _ = sorted(processes_of(model))
        async with agent.open(Episode(id="1", seed=0, max_turns=10)) as speaker:
            os.kill(server, signal.SIGKILL)
            with pytest.raises(UserError, match=r"vLLM exited with code 137; the end of the log"):
                await speaker.reply([Message(role="user", content="hello")])


def test_the_agents_description_does_not_depend_on_the_port(model: str):
    assert VLLMAgent(model).describe() == VLLMAgent(model, port=9).describe()
    assert VLLMAgent(model).describe()["model"] == model


def test_a_missing_executable_is_reported_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("COLBENCH_VLLM", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="COLBENCH_VLLM: .*nowhere is not an executable"):
        find_vllm()
    monkeypatch.delenv("COLBENCH_VLLM")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"pip install 'colbench\[vllm\]'.*COLBENCH_VLLM"):
        find_vllm(python=str(tmp_path / "python"))


@pytest.mark.parametrize(
    ("model", "args", "message"),
    [
        ("", {}, "the model is missing"),
        ("./no-such-folder", {}, "the folder does not exist"),
        ("some/model", {"host": "0.0.0.0"}, "host cannot be set"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_starts(
    model: str, args: dict[str, str], message: str
):
    with pytest.raises(UserError, match=message):
        VLLMAgent(model, **args)


def test_the_tail_of_a_log_shows_the_last_lines_as_on_screen(tmp_path: Path):
    log = tmp_path / "log"
    log.write_bytes(b"first\n\x1b[1mloading 10%\rloading 100%\x1b[0m\n\nsecond \xff\n")
    assert tail(log, 2) == ["loading 100%", "second \ufffd"]


async def test_agent_and_human_with_the_same_model_and_flags_share_one_server(model: str):
    agent, human = VLLMAgent(model, enforce_eager=True), VLLMHuman(model, enforce_eager=True)
    async with agent:
        async with human:
            assert human.chat.base_url == agent.agent.chat.base_url
            assert len(processes_of(model)) == 3, "the watchdog, the server and its child"
        assert len(processes_of(model)) == 3
    assert wait_until_ended(model) == []
    assert VLLMHuman(model).chat.base_url != agent.agent.chat.base_url


async def test_two_simultaneous_users_of_a_server_start_it_once(model: str):
    agent, human = VLLMAgent(model), VLLMHuman(model)
    await asyncio.gather(agent.__aenter__(), human.__aenter__())
    assert len(processes_of(model)) == 3, "the watchdog, the server and its child"
    await agent.__aexit__(None, None, None)
    assert len(processes_of(model)) == 3
    await human.__aexit__(None, None, None)
    assert wait_until_ended(model) == []


def test_the_human_records_the_size_of_pictures_only_for_domains_with_pictures(model: str):
    human = VLLMHuman(model, max_image_edge=800)
    assert human.describe_domain("frontend")["max_image_edge"] == "800"
    assert "max_image_edge" not in human.describe_domain("backend")
