"""`sweet-rl` with a real vLLM server: from dialogues to a checkpoint that is served and evaluated.

`COLBENCH_VLLM` names the vllm executable of the environment that `vllm_cpu.sh` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.rollout import read_rollouts
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.settings import Shape

pytestmark = pytest.mark.weekly

BIN = Path(sys.executable).parent
ENGINE = {
    "dtype": '"float32"',
    "enforce_eager": "true",
    "max_model_len": "4096",
    "max_num_batched_tokens": "4096",
    # A prompt that is read in several chunks, together with a seed, crashes the engine of the CPU build.
    "enable_chunked_prefill": "false",
}
"""Settings of the engine in TOML."""
SERVER = "{ " + ", ".join(f"{name} = {value}" for name, value in ENGINE.items()) + " }"


@pytest.fixture(scope="module")
def vllm() -> Path:
    value = os.environ.get("COLBENCH_VLLM")
    if not value:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("COLBENCH_VLLM is not set")
    return Path(value).absolute()


def call(*words: str | Path) -> str:
    """Return the standard output of a command, which must succeed."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    done = subprocess.run(
        [BIN / words[0], *words[1:]], env=env, capture_output=True, text=True, check=False
    )
    print(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_checkpoint_is_trained_served_by_vllm_and_evaluated(tmp_path: Path, vllm: Path):
    out = tmp_path / "training"
    model = Path(
        call(
            *("sweet-rl", "run", "tiny-cpu", "--out", out),
            *("--set", "sample.server=vllm", "--set", f"sample.server_args={SERVER}"),
        ).strip()
    )

    sampled = next(out.glob("sample-*/sampled.jsonl")).read_text().splitlines()
    turns = [json.loads(line) for line in sampled]
    assert all(len(turn["replies"]) == 4 for turn in turns)
    assert all(turn["prompt"] and reply["ids"] for turn in turns for reply in turn["replies"])

    run = tmp_path / "run"
    engine = (
        word
        for name, value in ENGINE.items()
        for word in ("--agent-arg", name + "=" + value.strip('"'))
    )
    call(
        *("colbench", "eval", "--agent", f"vllm:{model}", *engine, "--agent-arg", "max_tokens=16"),
        *("--limit", "4", "--max-turns", "3", "--record-tokens", "--out", run),
    )
    rollouts = read_rollouts(run / "rollouts.jsonl")
    assert len(rollouts) == 4
    assert all(rollout.settled and rollout.scores for rollout in rollouts)
    assert all(turn.sampled for rollout in rollouts for turn in rollout.turns)


def test_the_recipe_for_a_pretrained_model_on_a_cpu_trains_a_checkpoint(tmp_path: Path):
    build(tmp_path / "base", Shape(), [Path(__file__).read_text(encoding="utf-8")])
    shortened = ("collect=[{limit=12}]", "data.held_out=0.25", "rft.train.max_steps=2")

    model = call(
        *("sweet-rl", "run", "smollm2-cpu", "--model", tmp_path / "base"),
        *(
            "--out",
            tmp_path / "training",
            *(word for each in shortened for word in ("--set", each)),
        ),
    )

    assert (Path(model.strip()) / "model.safetensors").is_file()
