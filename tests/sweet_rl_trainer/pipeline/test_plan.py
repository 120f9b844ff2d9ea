"""The stages of a recipe, their order, and the stages that a changed recipe runs again."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.pipeline.method import goals
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.pipeline.stage import Source, Stage

CRITIC = ["critic-data", "critic"]
ACTOR = ["sample", "rank"]
SWEET = [*CRITIC, "diagnose", *ACTOR, "diagnose", "actor", "export"]
TWO_ITERATIONS = [
    'collect=[{agent = "guesser", limit = 4}, {agent = "vllm:{model}", limit = 4}]',
    "iterations=2",
]


def names(stages):
    return [stage.name for stage in stages]


def keys(recipe, goal=None):
    """Return the key of each stage; the second diagnosis is named `diagnose, ranked`."""
    found = {}
    for stage in plan(recipe, goal):
        name = f"{stage.name}, ranked" if "ranked" in stage.inputs else stage.name
        found[name] = stage.key
    return found


def changed(before, after):
    """Return the names of the stages that run again."""
    one, other = keys(before), keys(after)
    assert one.keys() == other.keys()
    return {name for name in one if one[name] != other[name]}


STAGES = {
    "critic": CRITIC,
    "diagnose": [*CRITIC, "diagnose"],
    "sample": ["sample"],
    "rank": ["sample", *CRITIC, "rank"],
    "actor": SWEET,
    "rft": ["rft-data", "rft", "export"],
    "turn-rft": ["turn-rft-data", "turn-rft", "export"],
    "mtdpo": ["mtdpo-data", "mtdpo", "export"],
    "grpo": ["grpo", "export"],
    "fic": ["fic-answers", "fic-data", "fic", "export"],
}
"""The stages of each goal, in order."""


@pytest.mark.parametrize(("goal", "expected"), [(None, SWEET), *STAGES.items()])
def test_a_goal_has_its_stages_in_order(goal, expected, small):
    assert names(plan(small(), goal)) == expected


def test_the_stages_of_every_goal_are_tested():
    assert goals().keys() == STAGES.keys()


@pytest.mark.parametrize("method", ["rft", "turn-rft", "mtdpo", "grpo", "fic"])
def test_the_method_is_the_default_goal(method, small):
    recipe = small(f"method={method}")
    assert [each.key for each in plan(recipe)] == [each.key for each in plan(small(), method)]


def test_scores_without_a_critic_add_no_critic_stages(small):
    for scores in ("pmi", "returns", "facts", "gain"):
        stages = plan(small(f"rank.scores={scores}"))
        assert names(stages) == ["sample", "rank", "actor", "export"]


def test_a_plan_first_makes_the_tiny_model_and_collects_dialogues():
    assert names(plan(read("tiny-cpu"))) == ["base", *["collect"] * 3, *SWEET]
    assert names(plan(read("tiny-cpu"), "grpo")) == ["base", "grpo", "export"]


def test_only_rft_collects_privileged_dialogues(small):
    privileged = 'collect_privileged=[{agent="demonstrator"}]'
    assert names(plan(small(privileged), "rft")) == ["collect", "rft-data", "rft", "export"]
    assert names(plan(small(privileged))) == names(plan(small()))


def test_only_stages_that_pair_dialogues_read_extra_negatives(small):
    negatives = 'negatives=[{agent="interviewer", max_turns=2}]'
    for goal in (None, "mtdpo"):
        with_them = plan(small(negatives), goal)
        assert names(with_them) == ["collect", *names(plan(small(), goal))]
        having = {each.name for each in with_them if "truncated0" in each.inputs}
        assert having == {"mtdpo-data" if goal else "critic-data"}


def test_an_export_has_the_trained_model_and_its_base(small):
    *_, actor, export = plan(small())
    assert set(export.inputs) == {"model", "trained"}
    assert export.inputs["trained"].key == actor.key
    assert isinstance(export.inputs["model"], Source)


def test_the_second_iteration_starts_from_the_exported_model_of_the_first(small):
    stages = plan(small(*TWO_ITERATIONS))
    assert names(stages) == [*SWEET, "collect", "collect", *SWEET]
    first = stages[len(SWEET) - 1]
    second = stages[len(SWEET) :]
    others, own = (stage for stage in second if stage.name == "collect")
    assert others.inputs == {}
    assert own.inputs["model"] is first
    trained = [stage for stage in second if stage.name not in {"collect", "diagnose"}]
    for stage in trained:
        assert stage.inputs["model"] is first, stage.name
    data = next(stage for stage in second if stage.name == "critic-data")
    assert {name: each.name for name, each in data.inputs.items() if name != "model"} == {
        "collected0": "collect",
        "collected1": "collect",
    }


def test_each_exported_model_is_evaluated(small):
    stages = plan(
        small(*TWO_ITERATIONS, 'evaluate=[{agent="vllm:{model}", tasks="bundled:backend"}]')
    )
    exports = [stage for stage in stages if stage.name == "export"]
    evaluated = [stage for stage in stages if stage.name == "evaluate"]
    assert [stage.inputs["model"] for stage in evaluated] == exports
    assert names(stages) == [*SWEET, "evaluate", "collect", "collect", *SWEET, "evaluate"]
    own = next(stage for stage in stages if stage.name == "collect" and stage.inputs)
    assert own.inputs["model"] is exports[0]
    assert "evaluate" not in names(plan(small('evaluate=[{agent="vllm:{model}"}]'), "critic"))


def test_only_the_last_iteration_stops_at_an_earlier_goal(small):
    stages = plan(small(*TWO_ITERATIONS), "critic")
    assert names(stages) == [*SWEET, "collect", "collect", *CRITIC]
    assert stages[-1].inputs["model"] is stages[len(SWEET) - 1]
    stages = plan(small(*TWO_ITERATIONS), "rft")
    rft = ["rft-data", "rft", "export"]
    assert names(stages) == [*rft, "collect", "collect", *rft]


@pytest.mark.parametrize(
    ("goal", "scores"),
    [
        ("rft", "critic"),
        ("turn-rft", "critic"),
        ("mtdpo", "critic"),
        ("actor", "critic"),
        ("actor", "gain"),
        ("actor", "facts"),
        ("fic", "critic"),
    ],
)
def test_each_iteration_has_new_dialogues_and_the_last_policy_as_reference(goal, scores, small):
    collect = 'collect=[{agent = "vllm:{model}", limit = 4}]'
    stages = plan(small(collect, "iterations=3", f"rank.scores={scores}"), goal)
    exported = [each for each in stages if each.name == "export"]
    trained = [each for each in stages if each.name == goal]
    collected = [each for each in stages if each.name == "collect"]
    assert (len(exported), len(trained), len(collected)) == (3, 3, 2), "the first has runs"
    assert len({each.key for each in stages}) == len(stages)
    for number in (1, 2):
        for stage in (collected[number - 1], trained[number]):
            assert stage.inputs["model"] is exported[number - 1]


def test_iterations_share_dialogues_that_do_not_depend_on_the_model():
    recipe = read(
        "tiny-cpu", ["iterations=2"], {"collect": [{"agent": "guesser"}, {"agent": "vllm:{model}"}]}
    )
    assert names(plan(recipe)) == ["base", "collect", "collect", *SWEET, "collect", *SWEET]


NOTHING = set()
FROM_ACTOR = {"actor", "export"}
FROM_RANK = {"rank", "diagnose, ranked", *FROM_ACTOR}
FROM_CRITIC = {"critic", "diagnose", *FROM_RANK}
ALL = {"critic-data", "sample", *FROM_CRITIC}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("actor.train.learning_rate=1e-5", FROM_ACTOR),
        ("actor.token_weights=turn-mean", FROM_RANK),
        ("rank.pairs=margin", FROM_RANK),
        ("rank.scores=released", FROM_RANK),
        ("rank.calibrate=true", FROM_RANK),
        ("sample.count=5", {"sample", *FROM_RANK}),
        ("sample.server=x@http://localhost:1/v1", {"sample", *FROM_RANK}),
        ("actor.train.precision=bfloat16", {"sample", *FROM_RANK}),
        ("critic.train.beta=0.2", FROM_CRITIC),
        ("critic.token_weights=trajectory-mean", {"critic-data", *FROM_CRITIC}),
        ("critic.pairs.match_turns=true", {"critic-data", *FROM_CRITIC}),
        ("lora.rank=4", FROM_CRITIC),
        ("diagnose.questions=2", {"diagnose", "diagnose, ranked"}),
        ("export.dtype=bfloat16", {"export"}),
        ("data.held_out=0.4", ALL),
        ("data.seed=1", ALL),
        ("model.template_args.enable_thinking=false", ALL),
        ("launch.config=ddp", NOTHING),
        ("launch.processes=2", NOTHING),
        ("sample.concurrency=1", NOTHING),
        ("sample.server_args.port=1", NOTHING),
        ("rank.row_tokens=100", NOTHING),
        ("rank.continuations=2", NOTHING),
        ("data.tasks=bundled:backend/train", NOTHING),
        ("rft.train.beta=0.2", NOTHING),
        ("grpo.train.steps=3", NOTHING),
    ],
)
def test_a_change_reruns_only_the_stages_that_depend_on_it(change, expected, small):
    assert changed(small(), small(change)) == expected


def test_more_continuations_rerun_the_ranking(small):
    one, other = (small("rank.scores=returns", f"rank.continuations={count}") for count in (2, 4))
    assert changed(one, other) == FROM_RANK - {"diagnose, ranked"}


@pytest.mark.parametrize("change", ["rank.cost=0.1", "rank.scale=none"])
def test_the_cost_and_scale_of_credit_rerun_only_facts_and_gain_rankings(change, small):
    for scores in ("facts", "gain"):
        one, other = small(f"rank.scores={scores}"), small(f"rank.scores={scores}", change)
        assert changed(one, other) == FROM_RANK - {"diagnose, ranked"}
    assert changed(small(), small(change)) == NOTHING


def test_told_later_affects_only_the_facts_scores(small):
    later = "rank.told_later=0.25"
    assert changed(small("rank.scores=facts"), small("rank.scores=facts", later)) == FROM_RANK - {
        "diagnose, ranked"
    }
    assert changed(small("rank.scores=gain"), small("rank.scores=gain", later)) == NOTHING


def test_the_actor_loss_reruns_the_ranking_but_not_the_sampling(small):
    assert changed(small(), small("actor.loss=nll")) == FROM_RANK
    assert changed(small(), small("actor.loss=dpo")) == NOTHING


@pytest.mark.parametrize(
    "change", ["grpo.train.steps=3", "lora.rank=4", "model.template_args.enable_thinking=false"]
)
def test_grpo_reruns_after_a_change_of_its_steps_adapters_or_template(change, small):
    before, after = (plan(small(*changes), "grpo")[0] for changes in ((), (change,)))
    assert before.name == after.name == "grpo"
    assert before.key != after.key


def test_the_address_of_a_server_does_not_change_the_keys(small):
    one, other = (small(f"sample.server={where}") for where in ("vllm", "x@http://localhost:1/v1"))
    assert changed(one, other) == NOTHING


@pytest.mark.parametrize(
    ("change", "expected"),
    [("critic.train.precision=bfloat16", True), ("critic.train.beta=0.2", False)],
)
def test_pmi_scores_depend_on_the_precision_but_not_on_the_critic_training(change, expected, small):
    before, after = small("rank.scores=pmi"), small("rank.scores=pmi", change)
    assert changed(before, after) == ({"rank", "actor", "export"} if expected else NOTHING)


def test_keys_depend_on_the_content_of_runs_and_model_not_on_their_paths(
    small, collected, small_model, tmp_path
):
    places = [tmp_path / "asks", tmp_path / "guesses"]
    for place, folder in zip(places, collected, strict=True):
        shutil.copytree(folder, place)
    shutil.copytree(small_model, tmp_path / "model")
    runs = f"data.runs={[str(place) for place in places]}"
    moved = small(runs, f"model.name={tmp_path / 'model'}")
    assert changed(small(), moved) == NOTHING
    (tmp_path / "asks" / "report.html").write_text("another report")
    assert changed(small(), moved) == NOTHING

    rollouts = tmp_path / "asks" / "rollouts.jsonl"
    rollouts.write_bytes(rollouts.read_bytes() + b"\n")
    assert changed(small(), moved) == ALL
    with_template = small(f"model.name={tmp_path / 'model'}")
    assert changed(small(), with_template) == NOTHING
    template = tmp_path / "model" / "chat_template.jinja"
    template.write_text(template.read_text() + " ")
    assert changed(small(), with_template) == ALL


@pytest.mark.parametrize(
    "run",
    [
        '{tasks = "file:named", agent = "guesser"}',
        '{agent = "named:Agent"}',
        '{agent = "guesser", human = "named:Human"}',
        '{agent = "demonstrator", agent_args = {knows = "named"}}',
    ],
)
def test_keys_depend_on_the_content_of_the_files_that_a_run_names(run, tmp_path):
    file = tmp_path / "file"
    keys = []
    for text in ("one", "other"):
        file.write_text(text)
        keys.append(collecting_key(run.replace("named", str(file))))
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    "setting", ['scoring = "official"', 'scorers = ["x"]', 'clip_weights = "x"']
)
def test_keys_depend_on_the_settings_of_scores(setting):
    keys = [collecting_key(run) for run in ("{}", f"{{{setting}}}", '{scoring = "default"}')]
    assert keys[0] == keys[2] != keys[1]


def collecting_key(run):
    """Return the key of the stage that collects the dialogues of a run."""
    (stage,) = (
        each for each in plan(read("tiny-cpu", [f"collect=[{run}]"])) if each.name == "collect"
    )
    return stage.key


def test_the_key_of_a_random_model_depends_on_the_content_of_its_texts(tmp_path):
    file = tmp_path / "tasks.jsonl"
    keys = []
    for text in ("one", "other"):
        file.write_text(text)
        keys.append(plan(read("tiny-cpu", [f"model.tiny.texts={file}"]))[0].key)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.runs=['nowhere']", r"^nowhere is not a run folder of `colbench eval`: "),
        ("data.official=['nowhere.jsonl']", r"^nowhere\.jsonl cannot be read: No such file"),
        ("data.negatives=['nowhere']", r"^nowhere is not a run folder"),
        ("data.system=nowhere.txt", r"^data\.system: nowhere\.txt cannot be read"),
        ("model.name=/nowhere", r"^model '/nowhere': neither an existing folder"),
        ("data.runs=[]", r"^data\.runs: set run folders \(--runs\), trajectory files"),
    ],
)
def test_a_missing_input_is_named(change, message, small):
    with pytest.raises(UserError, match=message):
        plan(small(change))


def test_a_folder_without_a_complete_checkpoint_is_refused(small, tmp_path):
    with pytest.raises(
        UserError, match=r"is not a complete checkpoint: it needs config\.json, and model\.saf"
    ):
        plan(small(f"model.name={tmp_path}"))


def test_the_settings_of_every_stage_can_be_hashed(small):
    for stage in plan(small(*TWO_ITERATIONS)):
        assert isinstance(stage, Stage)
        assert len(stage.key) == 64


def test_collected_dialogues_depend_on_tasks_and_limits_not_on_concurrency(
    tmp_path,
):
    def stages(**fields):
        config = {"agent": "guesser", "tasks": str(tmp_path / "tasks.jsonl"), **fields}
        return plan(read("tiny-cpu", values={"collect": [config]}))

    (tmp_path / "tasks.jsonl").write_text("{}")
    before = [each.key for each in stages()]
    assert [each.key for each in stages(concurrency=1, sandbox_workers=1)] == before
    assert stages(limit=3)[1].key != before[1]
    assert stages(max_turns=3)[1].key != before[1]
    (tmp_path / "tasks.jsonl").write_text("{ }")
    same = [old == each.key for old, each in zip(before, stages(), strict=True)]
    assert same == [True, *[False] * (len(before) - 1)]
