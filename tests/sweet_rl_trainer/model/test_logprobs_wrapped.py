"""A model wrapped for several processes gives the log-probabilities and gradients of the unwrapped model."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM

from sweet_rl_trainer.model.logprobs import check_head, token_logprobs

IDS = torch.arange(24).reshape(2, 12) * 5 % 67
"""A row for each of two processes."""
PLACES = torch.arange(3, 11)


def logprobs(model, ids):
    return token_logprobs(model, {"input_ids": ids[None]}, PLACES, ids[PLACES + 1])


def data_parallel(model):
    return DistributedDataParallel(model)


def sharded(model):
    for layer in model.model.layers:
        fully_shard(layer, reshard_after_forward=True)
    return fully_shard(model, reshard_after_forward=True)


def whole(gradient):
    return gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient


WRAPS = {"DDP": data_parallel, "FSDP2": sharded}
KINDS = ["llama", "qwen2"]


def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    for kind in KINDS:
        for name, wrap in WRAPS.items():
            model = wrap(AutoModelForCausalLM.from_pretrained(f"{folder}/{kind}"))
            check_head(model)
            found = logprobs(model, IDS[rank])
            found.square().sum().backward()
            gradients = [whole(parameter.grad) for parameter in model.parameters()]
            torch.save((found.detach(), gradients), f"{folder}/{kind} {name} {rank}")
    dist.destroy_process_group()


@pytest.mark.weekly
def test_two_processes_give_the_values_and_gradients_of_one(make_model, tmp_path):
    models = {kind: make_model(kind) for kind in KINDS}
    for kind, model in models.items():
        model.save_pretrained(tmp_path / kind)
    command = [sys.executable, __file__]
    workers = [subprocess.Popen([*command, str(rank), str(tmp_path)]) for rank in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    for kind, model in models.items():
        expected = [logprobs(model, ids) for ids in IDS]
        gradients = torch.autograd.grad(
            sum(each.square().sum() for each in expected) / 2, list(model.parameters())
        )
        for name, rank in product(WRAPS, range(2)):
            found, averaged = torch.load(tmp_path / f"{kind} {name} {rank}")
            torch.testing.assert_close(found, expected[rank], rtol=1e-5, atol=1e-5)
            for one, other in zip(averaged, gradients, strict=True):
                assert (one - other).abs().max() <= 1e-5 * other.abs().max()


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2])
