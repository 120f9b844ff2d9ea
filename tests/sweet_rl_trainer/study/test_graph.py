"""The stages of a study, and which of them arms and seeds share."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from sweet_rl_trainer.pipeline import dialogues
from sweet_rl_trainer.pipeline.stage import order
from sweet_rl_trainer.study.arms import NAMED
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.world import read

RATE = 1e-3


@pytest.fixture
def prompt(tmp_path):
    found = tmp_path / "none.txt"
    found.write_text("")
    return found


@pytest.fixture
def graph(prompt):
    return Graph(read("asking"), prompt)


def after_base(graph, policy):
    before = {stage.key for stage in order(graph.base)}
    return [stage for stage in order(policy) if stage.key not in before]


def named(stages, name):
    return [stage for stage in stages if stage.name == name]


def test_an_iteration_starts_from_the_last_policy_and_its_new_dialogues(graph):
    stages = after_base(graph, graph.policies(NAMED["mtdpo"], 0, RATE)[-1])
    collected, trained, exported = (named(stages, each) for each in ("collect", "mtdpo", "export"))
    assert [len(each) for each in (collected, trained, exported)] == [3, 3, 3]
    starts = [graph.base, *exported[:-1]]
    for model, dialogue, training in zip(starts, collected, trained, strict=True):
        assert dialogue.inputs["model"].key == model.key
        assert training.inputs["model"].key == model.key, "which is also the reference"
        assert dialogue in training.inputs["data"].inputs.values()
    assert (
        len(
            {
                stage.settings["run"]["seed"] if "run" in stage.settings else stage.settings["seed"]
                for stage in collected
            }
        )
        == 3
    )


def test_all_arms_begin_with_the_same_dialogues(graph):
    firsts = {
        named(after_base(graph, graph.policies(NAMED[name], 0, RATE)[-1]), "collect")[0].key
        for name in ("rft", "mtdpo", "sweet", "gain", "facts", "rft-unfiltered")
    }
    assert len(firsts) == 1


def test_gain_and_facts_share_candidates_and_differ_in_their_ranking(graph):
    one, other = (
        after_base(graph, graph.policies(NAMED[name], 0, RATE)[-1]) for name in ("gain", "facts")
    )
    assert named(one, "sample")[0].key == named(other, "sample")[0].key
    assert named(one, "rank")[0].key != named(other, "rank")[0].key
    assert not named(one, "critic")


def test_the_single_iteration_arm_has_the_dialogues_and_steps_of_three(graph):
    once, thrice = NAMED["rft-once"], NAMED["rft"]
    recipe = graph.recipe(once, 0, RATE)
    assert recipe.collect[0].trials == 3 * graph.recipe(thrice, 0, RATE).collect[0].trials
    steps = [graph.recipe(arm, 0, RATE).tables["rft"].train.max_steps for arm in (once, thrice)]
    assert steps[0] == 3 * steps[1]
    assert len(named(after_base(graph, graph.policies(once, 0, RATE)[-1]), "rft")) == 1


def test_a_study_holds_out_no_training_dialogues(graph):
    recipe = graph.recipe(NAMED["rft"], 0, RATE)
    assert recipe.data.held_out == 0, "nothing by which another one could be chosen"


def test_learning_rates_share_earlier_stages_and_seeds_share_only_the_base(graph):
    arm = NAMED["sweet"]
    one, again, other = (
        {stage.key for stage in after_base(graph, graph.policies(arm, seed, rate)[-1])}
        for seed, rate in ((0, RATE), (0, 2 * RATE), (1, RATE))
    )
    assert not one & other
    names = {
        stage.name
        for stage in after_base(graph, graph.policies(arm, 0, RATE)[-1])
        if stage.key in again
    }
    assert names == {"collect", "critic-data", "critic", "sample", "rank"}


def test_the_policy_of_an_arm_without_a_goal_is_the_base(graph):
    assert graph.policies(NAMED["zero-shot"], 3, 0.0) == [graph.base]


def test_a_base_can_first_be_fine_tuned_on_its_own_dialogues(prompt):
    plain, tuned = (Graph(read(name), prompt) for name in ("population", "finetuned"))
    added = after_base(plain, tuned.base)
    assert [stage.name for stage in added] == ["collect", "collect", "rft-data", "rft", "export"]
    own = next(stage for stage in added if stage.name == "collect" and stage.inputs)
    assert own.inputs["model"].key == plain.base.key
    run = replace(plain.run(own.settings["tasks"], 1, 0), record_tokens=True)
    assert own.settings == dialogues.settings(run)


def test_exchanges_use_the_test_tasks_and_depend_on_asker_and_writer(graph):
    policy = graph.policies(NAMED["rft"], 0, RATE)[-1]
    asks, written = graph.exchange(policy, None, 0), graph.exchange(None, policy, 0)
    assert (asks.inputs, written.inputs) == ({"asker": policy}, {"writer": policy})
    assert len({asks.key, written.key, graph.exchange(policy, graph.base, 0).key}) == 3
    tested = graph.test(policy, 0).settings["run"]
    assert asks.settings["run"]["tasks"] == tested["tasks"]


def test_arms_have_no_more_iterations_than_the_world(graph, prompt):
    once = Graph(replace(graph.world, iterations=1), prompt)
    for name, iterations in (("rft", 3), ("rft-once", 1)):
        policies = graph.policies(NAMED[name], 0, RATE)
        assert len(policies) == iterations
        assert [each.key for each in once.policies(NAMED[name], 0, RATE)] == [policies[0].key]


def test_the_world_limits_the_turns_of_policies_but_not_of_demonstrators(graph):
    prompt = Path(graph.run("tasks", 1, 0).agent_prompt)
    short = Graph(replace(graph.world, max_turns=2), prompt)
    assert short.base.key == graph.base.key
    one, other = (each.policies(NAMED["rft"], 0, RATE)[-1] for each in (short, graph))
    assert one.key != other.key
