"""The stages of a study: what methods and seeds have in common, and what they have not."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.data.runs import named
from sweet_rl_trainer.pipeline import dialogues
from sweet_rl_trainer.pipeline.stage import order
from sweet_rl_trainer.study.graph import Graph
from sweet_rl_trainer.study.judge import CRITIC, DIALOGUES, SCORES
from sweet_rl_trainer.study.methods import METHODS
from sweet_rl_trainer.study.run import chosen
from sweet_rl_trainer.study.scales import read, shipped

NAMED = {method.name: method for method in METHODS}


@pytest.fixture(params=shipped())
def graph(request, tmp_path):
    prompt = tmp_path / "none.txt"
    prompt.write_text("")
    return Graph(read(request.param), prompt)


def policy(graph, name, seed=0, **changes):
    method = NAMED[name]
    return graph.policy(method, graph.recipe(method, seed, **changes))


def stages(last):
    return {stage.name: stage.key for stage in order(last)}


def test_dialogues_are_as_long_as_the_scale_says_and_demonstrators_as_they_like(graph):
    prompt = Path(graph.run("tasks", 1, 0).agent_prompt)
    short = Graph(replace(graph.scale, max_turns=2), prompt)
    assert short.run("tasks", 1, 0) == replace(graph.run("tasks", 1, 0), max_turns=2)
    assert short.base.key == graph.base.key
    assert policy(short, "rft").key != policy(graph, "rft").key


def test_a_base_may_learn_from_its_own_dialogues_before_anything_is_compared(tmp_path):
    prompt = tmp_path / "none.txt"
    prompt.write_text("")
    plain, tuned = (Graph(read(name), prompt) for name in ("cpu", "cpu-finetuned"))
    before, after = ({stage.key: stage for stage in order(each.base)} for each in (plain, tuned))
    added = [stage for key, stage in after.items() if key not in before]
    assert [stage.name for stage in added] == ["collect", "collect", "rft-data", "rft", "export"]
    own = next(stage for stage in added if stage.name == "collect" and stage.inputs)
    assert own.inputs["model"].key == plain.base.key
    run = replace(plain.run(own.settings["tasks"], 1, 0), record_tokens=True)
    assert own.settings == dialogues.settings(run)


def test_a_scale_has_what_it_does_not_say_from_the_one_it_is_like():
    plain, tuned = read("cpu"), read("cpu-finetuned")
    assert not plain.own
    assert (tuned.test, tuned.recipe, tuned.rates) == (plain.test, plain.recipe, plain.rates)
    assert tuned.methods != plain.methods


def test_all_methods_of_a_scale_are_known_and_have_rates(graph):
    assert set(graph.scale.methods) <= NAMED.keys()
    assert set(graph.scale.scaling) <= set(graph.scale.methods)
    assert set(graph.scale.exchanged) <= set(graph.scale.methods)
    assert set(graph.scale.repeated) <= {*graph.scale.methods, "main", "ablation", "remedy"}
    assert graph.scale.methods[0] == "zero-shot"


def test_all_methods_learn_from_the_same_dialogues_of_the_same_base(graph):
    names = graph.scale.methods[1:]
    assert len({stages(policy(graph, name))["base"] for name in names}) == 1
    collected = [graph.recipe(NAMED[name], 0).collect for name in names]
    assert collected == [collected[0]] * len(names)
    assert policy(graph, "zero-shot") is graph.base


def asked(names, *stages):
    """The settings of stages that methods ask for, each once."""
    changes = [NAMED[name].changes.items() for name in names]
    return {str({key: value for key, value in each if key.startswith(stages)}) for each in changes}


def test_critics_differ_and_what_was_sampled_is_shared(graph):
    actors = [name for name in graph.scale.methods if NAMED[name].goal == "actor"]
    found = {name: stages(policy(graph, name)) for name in actors}
    assert len({each["sample"] for each in found.values()}) == 1
    assert len({each["rank"] for each in found.values()}) == len(asked(actors, "critic.", "rank."))
    assert len({each["actor"] for each in found.values()}) == len(actors)
    judged = [name for name in actors if "critic" in found[name]]
    assert len({found[name]["critic"] for name in judged}) == len(asked(judged, "critic."))


def test_another_rate_trains_another_policy_by_the_same_critic(graph):
    one, other = (stages(policy(graph, "sweet", rate=rate)) for rate in (1e-5, 2e-5))
    assert one["actor"] != other["actor"]
    del one["actor"], other["actor"]
    assert one == other


def test_seeds_share_the_base_and_nothing_after_it(graph):
    one, other = (stages(policy(graph, "sweet", seed)) for seed in (0, 1))
    base = set(stages(graph.base).values())
    assert base
    assert set(one.values()) & set(other.values()) <= base


def test_critics_of_all_seeds_are_judged_on_the_same_dialogues(graph):
    one, other = (graph.scoring(graph.recipe(NAMED["sweet"], seed)) for seed in (0, 1))
    assert one.inputs[DIALOGUES].key == other.inputs[DIALOGUES].key
    assert one.key != other.key


def test_negatives_are_the_base_s_own_dialogues_without_an_answer(graph):
    recipe = graph.recipe(NAMED["limit-negatives"], 1)
    (collected,), (negatives,) = recipe.collect, recipe.negatives
    assert negatives == replace(
        collected, trials=1, agent_args=collected.agent_args | {"answers": False}
    )
    (data,) = (
        each for each in order(policy(graph, "limit-negatives")) if each.name == "critic-data"
    )
    assert data.inputs["truncated0"].inputs == {"model": graph.base}
    assert not graph.recipe(NAMED["sweet"], 1).negatives


def test_turns_are_counted_of_the_same_dialogues(graph):
    recipe = graph.recipe(NAMED["sweet"], 0)
    scores = graph.scoring(recipe)
    judged, counted = graph.judgment(recipe, scores), graph.judgment(recipe, None)
    for each in (judged, counted):
        assert each.inputs[DIALOGUES].key == scores.inputs[DIALOGUES].key
    assert judged.inputs.keys() - counted.inputs.keys() == {SCORES}
    assert counted.key == graph.judgment(graph.recipe(NAMED["pmi"], 1), None).key


def test_what_is_done_with_scores_does_not_change_them(graph):
    one, other, apart = (
        graph.scoring(graph.recipe(NAMED[name], 0)) for name in ("sweet", "calibrated", "released")
    )
    assert one.key == other.key != apart.key


def test_returns_are_no_scores_of_dialogues(graph):
    returns, pmi = (graph.recipe(NAMED[name], 0) for name in ("returns", "pmi"))
    assert graph.scoring(returns) is None
    assert CRITIC not in graph.scoring(pmi).inputs
    assert (graph.learning(returns), graph.learning(pmi)) == (None, None)
    assert graph.learning(graph.recipe(NAMED["sweet"], 0)).name == "critic-data"


def test_credit_of_no_recipe_is_that_of_questions_first(graph):
    sweet, returns = (graph.recipe(NAMED[name], 0) for name in ("sweet", "returns"))
    one, other = graph.credit(sweet, returns), graph.credit(None, returns)
    assert one.inputs.keys() - other.inputs.keys() == {"ranked"}
    assert one.inputs["returned"].key == other.inputs["returned"].key


def test_answers_are_exchanged_in_the_dialogues_of_the_test_tasks(graph):
    rft, sweet = policy(graph, "rft"), policy(graph, "sweet")
    one = graph.exchange(rft, sweet, (20, 40), 0)
    others = [
        graph.exchange(sweet, rft, (20, 40), 0),
        graph.exchange(rft, sweet, (20, 20), 0),
        graph.exchange(rft, sweet, (20, 40), 1),
    ]
    assert one.inputs == {"asker": rft, "writer": sweet}
    assert len({one.key, *(each.key for each in others)}) == 4
    run, tested = (each.settings["run"] for each in (one, graph.test(rft, 20, 0)))
    assert {key for key in run if run[key] != tested[key]} == {"agent"}


def test_a_share_of_the_tasks_is_learnt_from(graph):
    method = NAMED["rft"]
    whole, half = (graph.learnt(graph.recipe(method, 0, share=share)) for share in (1.0, 0.5))
    assert 0 < half < whole <= len(named(graph.scale.train))
    assert policy(graph, "rft", share=0.5).key != policy(graph, "rft").key


def test_tasks_to_choose_by_and_to_report_on_are_none_that_were_learnt_from(graph):
    scale = graph.scale
    sides = [{task.hash for task in named(each)} for each in (scale.train, scale.validation)]
    tests = {task.hash for task in named(scale.test)}
    assert not sides[0] & sides[1]
    assert not (sides[0] | sides[1]) & tests


def test_a_method_that_a_scale_does_not_have_is_named():
    scale = read("cpu")
    assert [each.name for each in chosen(scale, ["sweet", "rft"])] == ["rft", "sweet"]
    with pytest.raises(UserError, match="--only swet: expected one of zero-shot, rft"):
        chosen(scale, ["swet"])
    with pytest.raises(UserError, match="--scale tpu: expected one of cpu"):
        read("tpu")
