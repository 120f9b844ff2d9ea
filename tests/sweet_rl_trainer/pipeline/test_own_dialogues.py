"""Own dialogues as the source of a recipe: RFT, multi-turn DPO and SWEET-RL train on them."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import UserError
from sweet_rl_trainer.pipeline.inputs import load, sources
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read

torch.set_num_threads(1)


def write(path, *, tasks=12, **fields):
    """Write two dialogues for each task, a good one that asks and a bad one; return the path."""
    rows = []
    for number in range(tasks):
        ask = [
            {"role": "user", "content": f"A table for evening {number}, please."},
            {"role": "assistant", "content": "For how many people?"},
            {"role": "user", "content": "Four."},
            {"role": "assistant", "content": "Booked for four people."},
        ]
        for messages, reward in ((ask, 1), ([ask[0], ask[3]], 0.25)):
            rows.append({"messages": messages, "reward": reward, **fields})
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


@pytest.fixture
def recipe(small_recipe, tmp_path):
    """Return `recipe(file, "KEY=VALUE", …)`: the small recipe on own dialogues."""

    def build(file, *changes):
        text = small_recipe.read_text()
        start = text.index("runs = ")
        path = tmp_path / "own.toml"
        end = text.index("\n", start)
        path.write_text(f"{text[:start]}chats = ['{file}']{text[end:]}")
        return read(str(path), ["sample.data_fraction=0.5", *changes])

    return build


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rft", "mtdpo", "sweet"])
def test_rft_mtdpo_and_sweet_train_on_own_dialogues(method, recipe, tmp_path):
    file = write(tmp_path / "my.jsonl", privileged="four people")
    for stage in plan(recipe(file, f"method={method}"), None):
        said = stage.run(tmp_path / "out").said
        if stage.name.endswith("-data"):
            assert said["forms"] == {"one sequence": said["taken"] * (1 if method == "rft" else 2)}
            assert said["taken"] + said["held_out"] == 12
    (model,) = (tmp_path / "out").glob("export-*/model")
    assert (model / "model.safetensors").is_file()


def test_the_key_depends_on_the_content_of_the_file_not_on_its_path(recipe, tmp_path):
    one = write(tmp_path / "one.jsonl", privileged="four people")
    other = tmp_path / "other.jsonl"
    other.write_bytes(one.read_bytes())
    first, same = (plan(recipe(each), "rft")[-1].key for each in (one, other))
    write(other, privileged="five people")
    assert first == same != plan(recipe(other), "rft")[-1].key


def test_ids_depend_on_the_line_not_on_the_name_of_the_file(recipe, tmp_path):
    one = write(tmp_path / "one.jsonl")
    other = tmp_path / "other.jsonl"
    other.write_bytes(one.read_bytes())
    first, same = (
        load(data, {name: each.path for name, each in sources(data).items()})
        for data in (recipe(each).data for each in (one, other))
    )
    assert first == same
    assert set(first.by_id) == {f"line {number}" for number in range(1, 25)}


def test_dialogues_without_privileged_information_need_an_unprivileged_critic(recipe, tmp_path):
    file = write(tmp_path / "my.jsonl")
    (data, *_) = plan(recipe(file), "critic")
    with pytest.raises(UserError, match=r"line \d+: privileged information is missing"):
        data.run(tmp_path / "out")
    blind = ["critic.privileged=none", "rank.scores=critic-unprivileged"]
    (data, *_) = plan(recipe(file, *blind), "critic")
    assert data.run(tmp_path / "out").said["taken"] > 0


@pytest.mark.parametrize("method", ["fic", "turn-rft"])
def test_methods_that_need_tasks_refuse_own_dialogues(method, recipe, tmp_path):
    file = write(tmp_path / "my.jsonl", privileged="four people")
    with pytest.raises(UserError, match=f"{method}: needs the tasks .*; set data.runs"):
        plan(recipe(file), method)


def test_scores_by_returns_are_refused_for_own_dialogues(recipe, tmp_path):
    file = write(tmp_path / "my.jsonl", privileged="four people")
    with pytest.raises(UserError, match=r"rank.scores 'returns': only dialogues of runs"):
        recipe(file, "rank.scores=returns")


def test_a_file_that_does_not_exist_is_named(recipe, tmp_path):
    with pytest.raises(UserError, match=r"gone.jsonl cannot be read"):
        plan(recipe(tmp_path / "gone.jsonl"), "rft")
