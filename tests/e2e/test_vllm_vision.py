"""Frontend design with a real vLLM server and a tiny random vision model as both agent and human.

`COLBENCH_VLLM` names the vllm executable of the environment that `vllm_cpu.sh` makes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.errors import EndpointError
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from colbench.rollout import read_rollouts
from colbench.sandbox.browser import Renderer
from colbench.simulators.model import ModelHuman
from colbench.task import Hidden, Task
from colbench_agents.vllm_server import VLLMServer

pytestmark = pytest.mark.weekly

TASKS = 3
TURNS = 3
PATIENCE = 300.0
"""Seconds for a whole run."""
ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 16384,
    "max_num_batched_tokens": 16384,
    # A prompt that is read in several chunks, together with a seed, crashes the engine of the CPU build.
    "enable_chunked_prefill": False,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the model. Without vLLM, skip the test, or fail it in CI."""
    vllm = os.environ.get("COLBENCH_VLLM")
    if not vllm:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("COLBENCH_VLLM is not set")
    folder = tmp_path_factory.mktemp("model") / "tiny-vision"
    script = Path(__file__).with_name("tiny_vision.py")
    python = Path(vllm).absolute().with_name("python")
    subprocess.run([python, script, folder], check=True, capture_output=True)
    return folder


@pytest.fixture(autouse=True)
def _small_and_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")


async def test_the_models_replies_depend_on_the_pictures(
    tmp_path: Path, model: Path, renderer: Renderer
):
    short = tmp_path / "prompt.txt"
    short.write_text("{dialogue_history}")
    async with (
        VLLMServer(str(model), enable_prefix_caching=False, **ENGINE) as server,
        ModelHuman(f"{model}@{server.base_url}", prompt=str(short), max_tokens=32) as human,
    ):
        human.use_renderer(renderer)

        async def says_of(target: str, made: str) -> str:
            task = Task(
                id="t", domain="frontend", request="a page", hidden=Hidden(reference=target)
            )
            said = Message(role="assistant", content=made)
            reply = await human.respond(task, [Message(role="user", content="a page"), said])
            assert reply.images == ((await renderer.render(made)).picture,)
            return reply.content

        white, black = (
            f"<html><body style='background: {color}'>Boats</body></html>"
            for color in ("white", "black")
        )
        first = await says_of(white, black)
        assert first == await says_of(white, black)
        assert len({first, await says_of(white, white), await says_of(black, white)}) == 3
        await check_broken_picture_is_rejected(human.chat, (await renderer.render(white)).picture)


async def check_broken_picture_is_rejected(chat: OpenAIChat, picture: bytes) -> None:
    broken = Message(role="user", content="look", images=(picture[: len(picture) // 2],))
    with pytest.raises(EndpointError, match=r"rejects a request with pictures \(HTTP 400"):
        await chat.chat([broken], temperature=0, max_tokens=8, seed=0)


def test_a_frontend_run_completes_all_dialogues_with_replies_and_scores(
    tmp_path: Path, model: Path, browser: Path
):
    run = tmp_path / "run"
    output = evaluate(model, browser, run, tmp_path)
    rollouts = read_rollouts(run / "rollouts.jsonl")
    assert len(rollouts) == TASKS, output
    assert all(rollout.settled for rollout in rollouts), output
    for rollout in rollouts:
        assert [turn.said.startswith("<html>") for turn in rollout.turns] == [True] * TURNS
        assert all(turn.agent_usage and turn.agent_usage.prompt_tokens for turn in rollout.turns)
        assert all(turn.human and turn.human_usage for turn in rollout.turns[:-1])
        assert rollout.scores["default"].metrics["ssim"] < 1
    frontend = json.loads((run / "report.json").read_text())["domains"]["frontend"]
    assert (frontend["tasks"], frontend["unscored"]) == (TASKS, 0)


def evaluate(model: Path, browser: Path, run: Path, folder: Path) -> str:
    """Run `colbench eval`, and return its output."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    engine = {**ENGINE, "model": model, "port": port, "max_tokens": 48, "pictures": True}
    command = [
        *(Path(sys.executable).with_name("colbench"), "eval", "--domain", "frontend"),
        *("--agent", f"{Path(__file__).with_name('page_writer.py')}:PageWriter"),
        *(
            word
            for name, value in engine.items()
            for word in ("--agent-arg", argument(name, value))
        ),
        *("--human", f"openai:{model}@http://127.0.0.1:{port}/v1", "--human-arg", "max_tokens=32"),
        *("--limit", str(TASKS), "--max-turns", str(TURNS), "--browser", browser, "--out", run),
    ]
    done = subprocess.run(
        command,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def argument(name: str, value: object) -> str:
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"
