"""The shipped worlds."""

from __future__ import annotations

from functools import cache

import pytest
from marking import mostly
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.cli.study import QUICK, WORLDS
from sweet_rl_trainer.data.runs import named
from sweet_rl_trainer.study.arms import NAMED, chosen
from sweet_rl_trainer.study.world import read, shipped

EARLIER = "generated:backend/evaluation?number=300&families=loyalty,hotel"
"""The test tasks of the first study."""


@cache
def hashes(source):
    """Return the hashes of a source's tasks; the worlds share most of their sources."""
    return {task.hash for task in named(source)}


@pytest.fixture(params=mostly(pytest.mark.slow, shipped(), QUICK))
def world(request):
    return read(request.param)


def test_each_shipped_world_is_a_choice_of_the_command():
    assert {*WORLDS, QUICK} == {*shipped()}


def test_arms_are_known_and_their_goals_have_rates(world):
    goals = {NAMED[name].goal for name in world.arms} - {""}
    assert goals <= world.rates.keys()
    assert set(world.exchanged) <= set(world.arms)
    assert world.arms[0] == "zero-shot"


@pytest.mark.slow
@pytest.mark.parametrize("world", [name for name in shipped() if name != QUICK], indirect=True)
def test_full_worlds_have_four_rates_and_enough_tasks(world):
    assert {len(each) for each in world.rates.values()} == {4}
    tasks = [len(hashes(each)) for each in (world.validation, world.test)]
    assert tasks == ([64, 200] if world == read("smollm2") else [300, 600])
    assert {"rft", "mtdpo", "sweet", "gain", "facts"} <= {*world.arms} - world.fewer.keys()


def test_validation_and_test_tasks_are_not_training_tasks(world):
    tiny = world.base["model"].get("tiny", {})
    base = [
        *(tiny[name] for name in tiny if name == "texts"),
        *(each["tasks"] for each in world.base["collect"]),
    ]
    sources = (world.train, world.validation, world.test, EARLIER)
    train, validation, test, earlier = map(hashes, sources)
    learnt = train.union(*map(hashes, base))
    assert not learnt & (validation | test)
    assert not validation & test
    assert not earlier & test


def test_a_world_inherits_unset_values_from_the_world_it_is_like():
    plain, asking = read("population"), read("asking")
    assert asking.recipe == plain.recipe
    assert asking.base["rft"] == plain.base["rft"]
    own = [each["agent_args"] for each in asking.base["collect"]]
    assert own == [{"slips": False, "persona": "turn"}] * 2
    assert "agent_args" not in plain.base["collect"][0]


def test_a_named_model_replaces_a_tiny_one_and_can_be_overridden():
    assert read("smollm2").base["model"] == {"name": "HuggingFaceTB/SmolLM2-135M-Instruct"}
    assert read("smollm2", model="here").base["model"] == {"name": "here"}
    agents = [
        [each["agent_args"] for each in read(name).base["collect"]]
        for name in ("smollm2", "asking")
    ]
    assert agents[0] == agents[1]
    with pytest.raises(UserError, match="--model here: the world asking trains its base from"):
        read("asking", model="here")


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match="--world moon: expected one of asking, "):
        read("moon")
    with pytest.raises(UserError, match="--only luck: expected one of zero-shot, rft"):
        chosen(read("asking").arms, ("luck",))
    with pytest.raises(
        ValueError, match="`exchanged` contains arms that are missing from `arms`: sweet"
    ):
        replace(read("asking"), arms=("rft",), exchanged=("sweet",))
