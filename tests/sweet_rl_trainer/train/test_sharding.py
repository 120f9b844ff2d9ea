"""Training runs of two processes, started by `accelerate launch`, compared with runs of one process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")
pytest.importorskip("accelerate", reason="accelerate is not installed (colbench[train])")
pytest.importorskip("peft", reason="peft is not installed (colbench[train])")

from accelerate.commands.config.config_args import load_config_from_file
from safetensors.torch import load_file

import sweet_rl_trainer

HERE = Path(__file__).parent
CONFIGS = Path(sweet_rl_trainer.__file__).with_name("configs")
needs_deepspeed = pytest.mark.skipif(
    find_spec("deepspeed") is None, reason="deepspeed is not installed (colbench[deepspeed])"
)
KINDS = {
    "ddp": "Parameter False 102400",
    "fsdp2": "DTensor False 102400",
    "zero3": "Parameter True 0",
}
"""The embedding's weights during training: replicated or sharded."""
GRADIENTS = {"ddp": "NoneType Tensor", "fsdp2": "NoneType DTensor"}
"""The embedding's gradient before each row of a step of two rows: from the second row on, FSDP2 shards it."""
ROUNDING = 2**-8
"""Tolerance in bfloat16: after one step, all weights of an adapter's B have about one size and round the same way."""


def start(folder, *before):
    path = os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)])
    clean = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"}
    clean["PYTHONFAULTHANDLER"] = "1"
    done = subprocess.run(
        [sys.executable, *before, HERE / "sharded_run.py", folder],
        env={**os.environ, **clean, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def log(run):
    return [json.loads(line) for line in (run / "run" / "log.jsonl").read_text().splitlines()]


def weights(run, name="model.safetensors"):
    return load_file(run / "run" / "model" / name)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_accelerate_loads_each_configuration_of_the_package(path):
    config = load_config_from_file(str(path))
    assert (config.mixed_precision, config.num_machines) == ("no", 1)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return start(tmp_path_factory.mktemp("one"))


@pytest.fixture(
    scope="module",
    params=[
        "ddp",
        pytest.param("fsdp2", marks=pytest.mark.weekly),
        pytest.param("zero3", marks=[needs_deepspeed, pytest.mark.weekly]),
    ],
)
def two(request, tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = CONFIGS / f"{request.param}.yaml"
    launch = ["-m", "accelerate.commands.launch", "--config_file", config]
    launch += ["--num_processes", "2", "--main_process_port", str(port)]
    folder = start(tmp_path_factory.mktemp(request.param), *launch)
    assert (folder / "kind.txt").read_text() == KINDS[request.param]
    if request.param in GRADIENTS:
        assert (folder / "gradients.txt").read_text() == GRADIENTS[request.param]
    return folder


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("run", "file"),
    [
        ("whole", "model.safetensors"),
        ("cut", "model.safetensors"),
        ("adapters", "adapter_model.safetensors"),
        ("exact-adapters", "adapter_model.safetensors"),
    ],
)
def test_two_processes_train_the_same_model_as_one(one, two, run, file):
    for ours, theirs in zip(
        log(two / run)[:-1], log(one / "whole" if run == "cut" else one / run)[:-1], strict=True
    ):
        tied = (
            {"accuracy"} if theirs["step"] < 3 else set()
        )  # the learning rate of the first step is 0
        assert ours.keys() == theirs.keys()
        for name in ours.keys() - tied:
            near = {"abs": 1e-3, "rel": ROUNDING} if run == "adapters" else {"abs": 1e-5}
            assert ours[name] == pytest.approx(theirs[name], **near), name
    expected = weights(one / run, file)
    found = weights(two / run, file)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        torch.testing.assert_close(value, expected[name], atol=1e-5, rtol=0, msg=name)


@pytest.mark.weekly
def test_a_run_resumed_by_two_processes_ends_with_the_same_weights(two):
    expected = weights(two / "whole")
    for name, value in weights(two / "cut").items():
        assert torch.equal(value, expected[name]), name


@pytest.mark.weekly
def test_a_bfloat16_model_starts_equal_to_its_reference(one, two):
    for folder in (one, two):
        first = log(folder / "narrow")[0]
        assert first["margin"] == pytest.approx(0, abs=1e-6)
        assert first["nll"] == pytest.approx(log(one / "narrow")[0]["nll"], rel=1e-3)
