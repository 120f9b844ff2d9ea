"""Each kind of critic, from dialogues to scores: trained, diagnosed, and used for ranking."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.methods.critic.diagnose import DIAGNOSIS, decode
from sweet_rl_trainer.methods.ranking.files import SCORED
from sweet_rl_trainer.model.checkpoint import is_adapters
from sweet_rl_trainer.model.load import load_model
from sweet_rl_trainer.pipeline.plan import plan

pytestmark = pytest.mark.weekly
torch.set_num_threads(1)

SHORT = ("critic.train.max_steps=2", "actor.train.max_steps=2")


def run_stages(recipe, out, names):
    """Run the first stages of a plan until all in `names` are done; return the folder of each by its name."""
    folders = {}
    for stage in plan(recipe):
        if stage.name not in folders:  # the second diagnosis is the same, with candidates
            stage.run(out)
        folders.setdefault(stage.name, stage.folder(out))
        if folders.keys() == set(names):
            return folders
    raise AssertionError(f"of {names} only {folders.keys()}")


CRITIC = ("critic-data", "critic", "diagnose", "sample", "rank")


@pytest.mark.parametrize(
    "changes",
    [
        (
            "critic.token_weights=trajectory-mean",
            "critic.privileged=released-order",
            "critic.train.likelihood_weight=0",
            "actor.train.likelihood_over=everything",
            "rank.scores=released",
        ),
        ("critic.train.score=value", "rank.scores=value"),
        ("critic.privileged=none", "rank.scores=critic-unprivileged"),
        ("critic.token_weights=sum", "rank.scores=critic-sum"),
    ],
    ids=["released", "value", "unprivileged", "sum"],
)
def test_other_critics_are_trained_diagnosed_and_used_for_ranking(changes, small, tmp_path):
    folders = run_stages(small(*SHORT, *changes), tmp_path, CRITIC)
    done = json.loads((folders["critic"] / "done.json").read_text())
    assert done["said"]["step"] == 2
    assert decode((folders["diagnose"] / DIAGNOSIS).read_bytes()).pairs > 0
    lines = map(json.loads, (folders["rank"] / SCORED).read_text().splitlines())
    scores = [score for line in lines for score in line["scores"]]
    assert len(set(scores)) > 1
    assert json.loads((folders["rank"] / "done.json").read_text())["said"]["pairs"] > 0


def test_critic_and_actor_adapters_are_trained_and_merged_in_the_export(
    small, small_model, tmp_path
):
    folders = run_stages(small(*SHORT, "lora.rank=4"), tmp_path, (*CRITIC, "actor", "export"))
    for name in ("critic", "actor"):
        assert is_adapters(folders[name] / "run" / "model")
    merged, base = load_model(folders["export"] / "model"), load_model(small_model)
    changed = {
        name
        for name, value in merged.named_parameters()
        if not torch.equal(value, base.get_parameter(name))
    }
    assert changed
    assert all(name.endswith("_proj.weight") for name in changed)
