"""Recipes: how TOML files and flags are read, and which values are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.pipeline.paper_diff import STAGES, paper_diff
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import convert, paper_recipe, read
from sweet_rl_trainer.pipeline.recipe_files import describe, shipped, text

MODEL = {"model": {"name": "x"}}
SHIPPED = shipped()


def test_these_recipes_are_shipped():
    assert SHIPPED == [
        "gain-backend-8b",
        "loop-cpu",
        "lora-1gpu-8b",
        "paper-backend-8b",
        "paper-frontend-8b",
        "released-backend-8b",
        "smollm2-cpu",
        "tiny-cpu",
    ]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_recipe_is_valid_and_has_a_description(name):
    recipe = read(name, values={"data.runs": ["run"]})
    assert recipe.method == ("rft" if name == "smollm2-cpu" else "sweet")
    assert recipe.data.runs == ("run",)
    assert describe(name) == text(name)[0].splitlines()[0].removeprefix("# ")


def test_the_gain_recipe_has_no_critic_and_collects_dialogues_each_iteration():
    recipe = read("gain-backend-8b", ["model.name=x/y"])
    iteration = ["collect", "sample", "rank", "actor", "export", "evaluate"]
    stages = plan(recipe, offline=True)
    assert [each.name for each in stages] == iteration * 3
    assert len({each.key for each in stages}) == len(stages)
    collected, actors = (
        [each for each in stages if each.name == name] for name in ("collect", "actor")
    )
    exported = [each for each in stages if each.name == "export"]
    for number in (1, 2):
        assert collected[number].inputs["model"] is exported[number - 1]
        assert actors[number].inputs["model"] is exported[number - 1], "the reference, too"


@pytest.mark.parametrize("name", ["paper-backend-8b", "paper-frontend-8b"])
def test_the_papers_recipes_have_the_papers_values(name):
    recipe = read(name)
    allowed = {"data.held_out"}
    if recipe.domain == "frontend":
        allowed |= {"rft.at_least"}
    assert {name for name, *_ in paper_diff(recipe, paper_recipe(recipe.domain), STAGES)} == allowed
    for training, batch, epochs in (
        ("critic", 8, {"backend": 4, "frontend": 8}),
        ("actor", 8, {"backend": 1, "frontend": 1}),
        ("rft", 32, {"backend": 4, "frontend": 8}),
        ("mtdpo", 8, {"backend": 4, "frontend": 8}),
    ):
        train = recipe.tables[training].train
        assert (train.batch_size, train.epochs) == (batch, epochs[recipe.domain])
        likelihood = 0.0 if train.score == "value" else 0.01
        assert (train.learning_rate, train.beta, train.likelihood_weight) == (2e-7, 0.1, likelihood)
    assert recipe.tables["critic"].pairs == recipe.tables["mtdpo"].pairs
    wanted = ("best-vs-worse", 0.0) if recipe.domain == "backend" else ("all-ordered", 0.1)
    assert (recipe.tables["critic"].pairs.rule, recipe.tables["critic"].pairs.margin) == wanted
    assert (recipe.tables["critic"].token_weights, recipe.tables["actor"].token_weights) == (
        "turn-mean",
        "sum",
    )
    assert (recipe.tables["critic"].max_length, recipe.tables["actor"].max_length) == (8192, 16_384)
    assert (recipe.tables["sample"].count, recipe.tables["sample"].data_fraction) == (16, 0.1)
    assert (recipe.tables["rank"].pairs, recipe.tables["rank"].pairs_per_turn) == ("halves", 4)


def test_the_paper_frontend_critic_is_a_value_head_on_a_vision_model():
    recipe = read("paper-frontend-8b")
    critic = recipe.tables["critic"]
    assert (critic.train.score, recipe.tables["rank"].scores) == ("value", "value")
    assert critic.vision.model == "Qwen/Qwen2-VL-7B-Instruct"
    other = paper_diff(read("tiny-cpu", ["domain=frontend"]), paper_recipe("frontend"), STAGES)
    found = {name: (ours, paper) for name, ours, paper in other}
    assert found["critic.vision"][0] is None
    assert found["critic.train.score"] == ("log-ratio", "value")
    assert found["rank.scores"] == ("critic", "value")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["domain=backend"], "critic.vision: the human sees no pictures in the domain backend"),
        (["critic.train.score=log-ratio"], "critic.vision: a critic that sees pages needs a regr"),
        (["critic.privileged=none"], "critic.vision: this critic always sees a picture of the"),
        (
            ["critic.train.share_beginnings=true"],
            "critic.train.share_beginnings: not supported for dialogues with pictures;",
        ),
        (["critic.vision.max_pixels=100"], "critic.vision.max_pixels 100: expected 3136 or more"),
    ],
)
def test_settings_incompatible_with_a_vision_critic_are_refused(changes, problem):
    with pytest.raises(UserError, match=f"recipe paper-frontend-8b: {problem}"):
        read("paper-frontend-8b", changes)


def test_the_released_recipe_has_only_the_known_deviations_from_the_paper():
    recipe = read("released-backend-8b")
    found = {key: ours for key, ours, _ in paper_diff(recipe, paper_recipe("backend"), STAGES)}
    assert found == {
        "critic.token_weights": "trajectory-mean",
        "critic.privileged": "released-order",
        "critic.train.likelihood_weight": 0.0,
        "rank.scores": "released",
        "actor.train.likelihood_over": "everything",
        "data.held_out": 0.03,
    }
    kept = ("beta", "likelihood_weight", "learning_rate", "epochs")
    actor = recipe.tables["actor"].train
    assert tuple(getattr(actor, each) for each in kept) == (0.1, 0.01, 2e-7, 1)


def test_paper_deviations_are_listed_for_the_given_stages_only():
    recipe = read("lora-1gpu-8b")
    rates = {f"{each}.train.learning_rate" for each in ("critic", "actor", "rft", "mtdpo")}
    paper = paper_recipe(recipe.domain)
    found = paper_diff(recipe, paper, STAGES)
    assert {name for name, *_ in found} == rates | {"lora", "data.held_out"}
    found = paper_diff(recipe, paper, {"rft", "export"})
    assert ("rft.train.learning_rate", 1e-5, 2e-7) in found
    assert [name for name, *_ in found] == ["data.held_out", "rft.train.learning_rate", "lora"]
    assert [name for name, *_ in paper_diff(recipe, paper, {"grpo"})] == ["lora"]


def test_settings_of_one_training_override_the_shared_settings():
    table = {"train": {"epochs": 3, "beta": 0.2}, "critic": {"train": {"epochs": 5}}}
    recipe = convert({**MODEL, **table}, "x")
    assert (recipe.tables["critic"].train.epochs, recipe.tables["critic"].train.beta) == (5, 0.2)
    assert (recipe.tables["actor"].train.epochs, recipe.tables["actor"].train.beta) == (3, 0.2)
    assert recipe.tables["rft"].train.batch_size == 32


def test_a_tiny_model_takes_its_texts_from_the_tasks_of_the_domain():
    texts = {
        domain: read("tiny-cpu", [f"domain={domain}"]).model.tiny.texts
        for domain in ("backend", "frontend")
    }
    assert texts == {"backend": "bundled:backend", "frontend": "bundled:frontend"}
    assert read("tiny-cpu", ["model.tiny.texts=my.jsonl"]).model.tiny.texts == "my.jsonl"


def test_a_value_critic_must_have_a_likelihood_weight_of_zero():
    changes = ["critic.train.score=value", "rank.scores=value"]
    recipe = read("tiny-cpu", changes)
    assert (
        recipe.tables["critic"].train.score,
        recipe.tables["critic"].train.likelihood_weight,
    ) == ("value", 0.0)
    assert (recipe.tables["actor"].train.score, recipe.tables["actor"].train.likelihood_weight) == (
        "log-ratio",
        0.01,
    )
    with pytest.raises(
        UserError, match=r"^recipe tiny-cpu: likelihood_weight 0\.01: must be 0 with score"
    ):
        read("tiny-cpu", [*changes, "critic.train.likelihood_weight=0.01"])


def test_imitating_successes_requires_a_pairwise_loss():
    changes = ["rank.scores=facts", "actor.imitate=successes"]
    assert read("tiny-cpu", changes).tables["actor"].loss == "dpo"
    with pytest.raises(UserError, match="actor.imitate 'successes': actor.loss 'nll' imitates"):
        read("tiny-cpu", [*changes, "actor.loss=nll"])


def test_the_executor_of_a_recipe_overrides_that_of_its_runs():
    runs = {"collect": [{"executor": "ray:one:1"}], "evaluate": [{"agent": "vllm:{model}"}]}
    recipe = convert({**MODEL, **runs, "executor": "ray:two:2"}, "recipe")
    assert {each.executor for each in (*recipe.collect, *recipe.evaluate)} == {"ray:two:2"}
    recipe = convert({**MODEL, **runs}, "recipe")
    assert [recipe.collect[0].executor, recipe.evaluate[0].executor] == ["ray:one:1", "local"]
    with pytest.raises(UserError, match="^recipe: --executor spark: unknown"):
        convert({**MODEL, "executor": "spark"}, "recipe")


def test_changes_are_read_as_toml_values_or_plain_text():
    recipe = read(
        "tiny-cpu",
        [
            "rank.scores=pmi",
            'rank.pairs = "margin"',
            "rank.margin=0.5",
            'data.official=["a=b"]',
            "lora={rank = 4}",
            "sample.server=x@http://localhost:8000/v1",
        ],
        {"model.template_args.enable_thinking": False},
    )
    assert (
        recipe.tables["rank"].scores,
        recipe.tables["rank"].pairs,
        recipe.tables["rank"].margin,
    ) == ("pmi", "margin", 0.5)
    assert recipe.data.official == ("a=b",)
    assert (recipe.lora.rank, recipe.lora.alpha) == (4, 32)
    assert recipe.tables["sample"].server == "x@http://localhost:8000/v1"
    assert recipe.model.template_args == {"enable_thinking": False}


def test_the_policy_has_the_chat_templates_variables_in_all_runs_of_a_recipe():
    runs = [{"agent": agent} for agent in ("local:{model}", "vllm:{model}", "interviewer")]
    own = {"agent": "local:{model}", "agent_args": {"template_args": "{}"}}
    values = {"collect": runs, "evaluate": [own]}
    recipe = read("tiny-cpu", ["model.template_args.enable_thinking=false"], values)
    said = '{"enable_thinking":false}'
    assert [each.agent_args for each in (*recipe.collect, *recipe.evaluate)] == [
        {"template_args": said},
        {"default_chat_template_kwargs": said},
        {},
        {"template_args": "{}"},
    ]
    assert not any(each.agent_args for each in read("tiny-cpu", (), values).collect)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("critc.train.beta=1", r"^recipe tiny-cpu: critc: unknown key; did you mean `critic`\?$"),
        (
            "critic.train.bta=1",
            r"^recipe tiny-cpu: critic\.train\.bta: unknown key; did you mean `beta`\?$",
        ),
        ("train.bta=1", r"^recipe tiny-cpu: train\.bta: unknown key; did you mean `beta`\?$"),
        ("train.beta=high", r"^recipe tiny-cpu: train\.beta: expected a number, got high$"),
        (
            "critic.train.beta=0",
            r"^recipe tiny-cpu: critic\.train\.beta: expected a number > 0\.0, got 0$",
        ),
        (
            "sample.count=1",
            r"^recipe tiny-cpu: sample\.count: expected a whole number >= 2, got 1$",
        ),
        (
            "method=dpo",
            r"^recipe tiny-cpu: method: dpo is not installed; did you mean `mtdpo`\? Installed: fic, grpo,",
        ),
        (
            "domain=mobile",
            r"^recipe tiny-cpu: unknown domain `mobile`; installed: backend, frontend$",
        ),
        (
            "rank.pairs=all",
            r"^recipe tiny-cpu: rank\.pairs: expected best-worst, .* or",
        ),
        (
            "train.score=points",
            r"^recipe tiny-cpu: train\.score: expected log-ratio or value, got points$",
        ),
        (
            "critic.train.score=points",
            r"critic\.train\.score: expected log-ratio or value, got points$",
        ),
        ("lora.quantize=2bit", r"^recipe tiny-cpu: lora\.quantize: expected 4bit, got 2bit"),
        ("train=3", r"^recipe tiny-cpu: train: expected a table, got 3$"),
        ("critic.train=3", r"^recipe tiny-cpu: critic\.train: expected a table, got 3$"),
        ("critic=3", r"^recipe tiny-cpu: critic: expected a table, got 3$"),
        ("method.name=x", r"^method\.name: method is sweet, not a table$"),
        (
            "launch.config=dpp",
            r"^recipe tiny-cpu: launch\.config 'dpp': neither a file nor one of ddp",
        ),
        ("actor.train.learning_rate=inf", r"actor\.train\.learning_rate: expected .*, got inf$"),
        ("actor.train.adam=[1, 1]", r"actor\.train\.adam\[0\]: expected .* < 1"),
        ("epochs", r"^--set epochs: expected KEY=VALUE, such as"),
        ("=3", r"^--set =3: expected KEY=VALUE, such as"),
        ("actor.train.score=value", r'likelihood_weight 0\.01: must be 0 with score = "value"'),
        (
            "train.score=value",
            r'likelihood_weight 0\.01: must be 0 with score = "value"',
        ),
        ("model.name=x", r"model\.name and model\.tiny: set only one of the two$"),
        (
            "iterations=2",
            r"iterations: more than one needs a \[\[collect\]\] table with \{model\}",
        ),
        ("iterations=0", r"iterations: expected a whole number >= 1, got 0$"),
        (
            "critic.privileged=none",
            r"rank\.scores 'critic' is incompatible with a critic that does not see the privileged",
        ),
        (
            "rank.scores=critic-unprivileged",
            r"is incompatible with a critic that sees the privileged information \(critic\.priv",
        ),
        (
            "critic.token_weights=sum",
            r"rank\.scores 'critic' is incompatible with critic\.token_weights 'sum'$",
        ),
        (
            "rank.scores=critic-sum",
            r"'critic-sum' is incompatible with critic\.token_weights 'turn-mean'$",
        ),
        (
            "sample.server=http://h:1/v1",
            r"sample\.server 'http://h:1/v1': expected .* or MODEL@URL, such as .*@http://localhost",
        ),
        (
            "actor.imitate=successes",
            r"actor.imitate 'successes': rank.scores .* does not determine .* to facts or gain,",
        ),
        ("rank.scores=value", r"'value' is incompatible with critic\.train\.score 'log-ratio'$"),
        (
            "critic.train.score=value",
            r"'critic' is incompatible with critic\.train\.score 'value'$",
        ),
    ],
)
def test_an_invalid_change_is_refused_with_its_key(change, message):
    with pytest.raises(UserError, match=message):
        read("tiny-cpu", [change])


def test_a_critic_that_sums_tokens_without_privileged_information_is_refused():
    changes = ["critic.privileged=none", "critic.token_weights=sum", "rank.scores=pmi"]
    with pytest.raises(UserError, match=r"critic\.token_weights 'sum' requires a critic that sees"):
        read("tiny-cpu", changes)


@pytest.mark.parametrize("scores", ["returns", "facts", "gain"])
@pytest.mark.parametrize("source", ["official", "chats"])
def test_scores_that_need_continuations_are_refused_without_runs(source, scores):
    changes = [f"rank.scores={scores}", f"data.{source}=['x.jsonl']"]
    with pytest.raises(UserError, match=f"'{scores}': only dialogues of runs can be continued"):
        read("tiny-cpu", changes)
    assert read("tiny-cpu", [*changes, "data.runs=['x']"]).tables["rank"].scores == scores


def test_an_actor_with_a_value_head_is_refused():
    changes = ["actor.train.score=value", "actor.train.likelihood_weight=0.0"]
    with pytest.raises(
        UserError, match=r"actor\.train\.score: only the critic can be a value model"
    ):
        read("tiny-cpu", changes)


def test_a_recipe_without_a_model_names_the_flag_that_sets_it():
    with pytest.raises(UserError, match=r"^x: model\.name: set the model to train.*\(--model\)$"):
        convert({}, "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[train", r"r\.toml: Expected ']' at the end of a table declaration"),
        (b"a = 1\na = 2\n", r"r\.toml: .*\(at line 2, column 6\)$"),
        (b"\xff\xfe", r"r\.toml is not a text file"),
        (b"[model]\nnmae = 'x'", r"r\.toml: model\.nmae: unknown key; did you mean `name`\?$"),
        (
            b"[[collect]]\nagnet = 'x'",
            r"r\.toml: collect\[0\]\.agnet: unknown key; did you mean `agent`\?$",
        ),
    ],
)
def test_an_invalid_recipe_file_is_named(content, message, tmp_path):
    path = tmp_path / "r.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read(str(path))


@pytest.mark.parametrize("name", ["paper", "/nowhere/r.toml", "."])
def test_a_missing_recipe_is_an_error_that_lists_the_shipped_recipes(name):
    with pytest.raises(
        UserError,
        match=r"recipe .* neither a file nor one of gain-backend-8b, loop-cpu",
    ):
        read(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('told=[{agent="demonstrator"}]', "told is now collect_privileged"),
        ("rft.told=[]", "rft.told is now rft.privileged"),
        ("critic.hidden=none", "critic.hidden is now critic.privileged"),
        ("critic.weights=sum", "critic.weights is now critic.token_weights"),
        ("mtdpo.weights=sum", "mtdpo.weights is now mtdpo.token_weights"),
        ("actor.weights=sum", "actor.weights is now actor.token_weights"),
        (
            "rank.scores=critic-without-hidden",
            "rank.scores 'critic-without-hidden' is now 'critic-unprivileged'",
        ),
    ],
)
def test_a_renamed_key_or_value_is_refused_with_its_new_name(change, said):
    with pytest.raises(UserError) as raised:
        read("tiny-cpu", [change])
    assert str(raised.value) == f"recipe tiny-cpu: {said}"
