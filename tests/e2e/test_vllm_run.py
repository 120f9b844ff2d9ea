"""Runs with a real vLLM server that are killed once or twice: no dialogue is lost or repeated, and no process is left.

A tiny random Llama is both agent and human. `COLBENCH_VLLM` names the vllm executable of the environment
that `vllm_cpu.sh` makes, and `COLBENCH_OFFICIAL_DATA` the folder with the official `backend.jsonl`.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colbench.rollout import read_rollouts
from colbench.task import read_tasks

pytestmark = pytest.mark.slow

PATIENCE = 300.0
"""Maximum number of seconds to wait for an attempt."""
ENGINE = {
    "dtype": "float32",
    "enforce_eager": "true",
    "max_model_len": 16384,
    "max_num_batched_tokens": 16384,
    # A prompt that is read in several chunks, together with a seed, crashes the engine of the CPU build.
    "enable_chunked_prefill": "false",
}


def required_path(variable: str) -> Path:
    """Return the path in an environment variable. Without it, skip the test, or fail it in CI."""
    value = os.environ.get(variable)
    if not value:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{variable} is not set")
    return Path(value).absolute()


@pytest.fixture
def rows() -> Path:
    return required_path("COLBENCH_OFFICIAL_DATA") / "backend.jsonl"


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tiny-llama"
    python = required_path("COLBENCH_VLLM").with_name("python")
    script = Path(__file__).with_name("tiny_llama.py")
    subprocess.run([python, script, folder], check=True, capture_output=True)
    return folder


class Attempts:
    """Repeated attempts of one `colbench eval`, whose processes are identified by their working folder."""

    def __init__(self, folder: Path, model: Path, rows: Path, limit: int) -> None:
        self.out = folder / "run"
        self.rollouts = self.out / "rollouts.jsonl"
        self.output = folder / "output.txt"
        self.cwd = folder / "cwd"
        self.cwd.mkdir()
        port = free_port()
        engine = {**ENGINE, "port": port, "max_tokens": 24, "log": folder / "vllm.log"}
        self.command = [
            *(Path(sys.executable).with_name("colbench"), "eval"),
            *("--agent", f"vllm:{model}"),
            *(
                word
                for name, value in engine.items()
                for word in ("--agent-arg", f"{name}={value}")
            ),
            *("--human", f"openai:{model}@http://127.0.0.1:{port}/v1"),
            *("--human-arg", "max_tokens=16"),
            "--record-tokens",
            *("--tasks", rows, "--limit", str(limit), "--concurrency", "4", "--out", self.out),
        ]

    @contextmanager
    def start(self) -> Iterator[subprocess.Popen[bytes]]:
        env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
        with (
            self.output.open("ab") as output,
            subprocess.Popen(
                self.command, cwd=self.cwd, env=env, stdout=output, stderr=output
            ) as harness,
        ):
            try:
                yield harness
            finally:
                harness.kill()

    def written(self) -> bytes:
        """Return the complete lines of the rollout file so far."""
        content = self.rollouts.read_bytes() if self.rollouts.exists() else b""
        return content[: content.rfind(b"\n") + 1]

    def running(self) -> list[str]:
        """Return the names of all processes of a run. The server's change their names, but not their working folder."""
        return [
            (process / "comm").read_text().strip()
            for process in Path("/proc").glob("[0-9]*")
            if working_folder(process) == self.cwd
        ]


def working_folder(process: Path) -> Path | None:
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return what()


@pytest.mark.parametrize(
    ("kills", "limit"), [(1, 20), pytest.param(2, 50, marks=pytest.mark.weekly)]
)
def test_a_killed_run_loses_and_repeats_no_dialogue(
    tmp_path: Path, tiny_llama: Path, rows: Path, kills: int, limit: int
):
    seed = int(os.environ.get("COLBENCH_E2E_SEED", time.time_ns() % 1_000_000))
    print(f"COLBENCH_E2E_SEED={seed}")
    moment = random.Random(seed)
    attempts = Attempts(tmp_path, tiny_llama, rows, limit)

    earlier = [b""]
    for _ in range(kills):
        enough = earlier[-1].count(b"\n") + moment.randint(2, 8)
        with attempts.start() as harness:
            reached = wait_for(
                lambda: attempts.written().count(b"\n") >= enough or harness.poll() is not None,  # noqa: B023
                PATIENCE,
            )
            assert reached, attempts.output.read_text()
            time.sleep(moment.uniform(0, 1))
            assert harness.poll() is None, attempts.output.read_text()
            harness.kill()
        assert wait_for(lambda: not attempts.running(), 30), attempts.running()
        earlier.append(attempts.written())
    with attempts.start() as harness:
        assert harness.wait(PATIENCE) == 0, attempts.output.read_text()
    assert attempts.running() == []

    final = attempts.rollouts.read_bytes()
    print(attempts.output.read_text())
    print("rollouts at each kill:", [lines.count(b"\n") for lines in earlier[1:]])
    assert all(final.startswith(lines) for lines in earlier), "a line that was written has changed"
    check_rollouts(attempts.rollouts, rows, limit)
    check_report(attempts.out, limit)


@pytest.mark.weekly
def test_a_run_killed_while_vllm_starts_leaves_no_process(
    tmp_path: Path, tiny_llama: Path, rows: Path
):
    attempts = Attempts(tmp_path, tiny_llama, rows, limit=50)
    with attempts.start() as harness:
        assert wait_for(lambda: "VLLM::EngineCor" in attempts.running(), PATIENCE)
        harness.kill()
    assert wait_for(lambda: not attempts.running(), 30), attempts.running()


def check_rollouts(rollouts: Path, rows: Path, limit: int) -> None:
    """Check that every cell occurs once and is settled, and that both agent and human used the model."""
    keys = [json.loads(line)["key"] for line in rollouts.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == limit
    finished = read_rollouts(rollouts)
    assert sorted(r.task_id for r in finished) == sorted(t.id for t in read_tasks(rows)[:limit])
    assert all(rollout.settled and rollout.scores for rollout in finished)
    turns = [turn for rollout in finished for turn in rollout.turns]
    assert all(turn.agent_usage and turn.agent_usage.completion_tokens for turn in turns)
    for turn in turns:
        assert turn.sampled
        assert turn.agent_usage
        assert len(turn.sampled.prompt) == turn.agent_usage.prompt_tokens
        assert len(turn.sampled.ids) == turn.agent_usage.completion_tokens
        assert len(turn.sampled.logprobs) == len(turn.sampled.ids)
        assert max(turn.sampled.logprobs) <= 0
    assert all(turn.human_usage for turn in turns if turn.human is not None)
    assert sum(turn.human is not None for turn in turns) > limit


def check_report(run: Path, limit: int) -> None:
    """Check that the report exists and counts every cell."""
    backend = json.loads((run / "report.json").read_text())["domains"]["backend"]
    assert (backend["tasks"], backend["unscored"]) == (limit, 0)
    assert "</html>" in (run / "report.html").read_text()
