"""The trajectories of a recipe: their sources, their IDs, and whether they are for training or held out."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.cli import main
from colbench.errors import DataError, UserError
from sweet_rl_trainer.pipeline.base import RUN
from sweet_rl_trainer.pipeline.dialogues import continuations
from sweet_rl_trainer.pipeline.inputs import load, run_folders, settings, sources, tasks
from sweet_rl_trainer.pipeline.recipe import DataSettings
from sweet_rl_trainer.pipeline.stage import Job


def loaded(**fields):
    data = DataSettings(**{"held_out": 0.3, **fields})
    return load(data, {name: each.path for name, each in sources(data).items()})


def strings(folders):
    return tuple(map(str, folders))


@pytest.fixture(scope="session")
def truncated(tmp_path_factory):
    """Return a run on the same tasks and four more, whose dialogues reach the turn limit without an answer."""
    folder = tmp_path_factory.mktemp("truncated") / "run"
    limits = ["--limit", "12", "--max-turns", "2"]
    main(["eval", "--tasks", "bundled:backend/train", *limits, "--out", str(folder)])
    return folder


def test_dialogues_of_one_run_are_told_apart_by_task_and_trial(collected):
    data = loaded(runs=(str(collected[0]),))
    lines = (collected[0] / "rollouts.jsonl").read_text().splitlines()
    rollouts = [json.loads(line) for line in lines]
    assert sorted(data.by_id) == sorted(f"{each['task_id']}/{each['trial']}" for each in rollouts)


def test_the_data_do_not_depend_on_keys_or_the_order_of_rollouts(collected, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(collected[0], moved)
    lines = (moved / "rollouts.jsonl").read_text().splitlines()
    others = [json.loads(line) | {"key": f"{n:064}"} for n, line in enumerate(reversed(lines))]
    text = "".join(json.dumps(each) + "\n" for each in others)
    (moved / "rollouts.jsonl").write_text(text)
    assert loaded(runs=(str(moved),)) == loaded(runs=(str(collected[0]),))


def test_dialogues_on_the_same_tasks_have_different_ids_in_each_run(collected):
    data = loaded(runs=strings([collected[0], collected[0]]))
    assert len(data.by_id) == 16
    assert Counter(name.partition(":")[0] for name in data.by_id) == {"0": 8, "1": 8}
    assert len({name.partition(":")[2] for name in data.by_id}) == 8


def test_all_dialogues_of_a_task_are_on_one_side(collected):
    data = loaded(runs=strings(collected))
    train, held_out = ({each.task_hash for each in side} for side in (data.train, data.held_out))
    assert train
    assert held_out
    assert train.isdisjoint(held_out)
    assert len(train | held_out) == 8
    assert data.negatives == []
    assert data.dropped == {}


def test_extra_negatives_belong_to_training_tasks_only(collected, truncated):
    data = loaded(runs=strings(collected), negatives=(str(truncated),))
    train = {each.task_hash for each in data.train}
    assert {each.task_hash for each in data.negatives} == train
    assert {each.ended_by for each in data.negatives} == {"limit"}
    assert all(each.id.startswith("negatives 0:") for each in data.negatives)
    assert not {each.id for each in data.negatives} & set(data.by_id)


def test_collected_negatives_are_read_like_runs_of_negatives(collected, truncated, tmp_path):
    (tmp_path / RUN).symlink_to(truncated)
    data = DataSettings(held_out=0.3, runs=strings(collected))
    inputs = {name: each.path for name, each in sources(data).items()}
    found = load(data, inputs | {"truncated0": tmp_path})
    assert found.negatives == loaded(runs=strings(collected), negatives=(str(truncated),)).negatives


def test_privileged_dialogues_belong_to_training_tasks_only(collected, tmp_path):
    (tmp_path / RUN).symlink_to(collected[0])
    data = DataSettings(held_out=0.3, runs=strings(collected))
    inputs = {name: each.path for name, each in sources(data).items()}
    found = load(data, inputs | {"privileged0": tmp_path})
    assert {each.task_hash for each in found.privileged} == {each.task_hash for each in found.train}
    assert all(each.id.startswith("privileged 0:") for each in found.privileged)
    assert len(found.by_id) == 16


def test_dialogues_of_runs_with_other_turn_limits_cannot_be_continued_together(
    collected, truncated, small, tmp_path
):
    def made(*folders):
        inputs = {f"runs{number}": folder for number, folder in enumerate(folders)}
        job = Job(folder=tmp_path, inputs=inputs, shared=tmp_path)
        return continuations(job, small())

    assert made(*collected).config.max_turns == 12
    with pytest.raises(UserError, match=rf"{truncated} differs from .* in max_turns, so .* set"):
        made(*collected, truncated)


def test_a_share_of_the_tasks_keeps_all_held_out_tasks(collected):
    whole, half = (loaded(runs=strings(collected), share=share) for share in (1.0, 0.5))
    assert half.held_out == whole.held_out
    assert 0 < len(half.train) < len(whole.train)


def test_an_official_file_is_read_with_the_given_system_prompt(official, tmp_path):
    (tmp_path / "system.txt").write_text("Ask first.")
    data = loaded(official=(str(official(4)),), system=str(tmp_path / "system.txt"), seed=1)
    assert len(data.by_id) == 8
    assert {each.messages[0].content for each in data.train} == {"Ask first."}
    assert {each.reward for each in data.by_id.values()} == {0.0, 1.0}


def test_collected_runs_are_read_from_the_folder_of_their_stage(collected, tmp_path):
    shutil.copytree(collected[0], tmp_path / RUN)
    inputs = {"model": tmp_path, "collected0": tmp_path, "negatives0": collected[1]}
    assert run_folders(inputs) == [tmp_path / RUN]
    assert len(tasks(DataSettings(), inputs)) >= 8
    assert len(load(DataSettings(held_out=0.3), inputs).by_id) == 8


def test_data_settings_depend_on_the_prompt_content_not_on_its_path(tmp_path):
    for name, content in (("one", "x"), ("other", "x"), ("third", "y")):
        (tmp_path / name).write_text(content)
    one, other, third = (
        settings(DataSettings(system=str(tmp_path / name))) for name in ("one", "other", "third")
    )
    assert one == other != third
    assert settings(DataSettings(tasks="somewhere")) == settings(DataSettings())


def test_a_run_without_rewards_is_an_error_that_suggests_scoring(collected, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(collected[0], folder)
    lines = [json.loads(line) for line in (folder / "rollouts.jsonl").read_text().splitlines()]
    content = "".join(json.dumps({**line, "scores": {}}) + "\n" for line in lines)
    (folder / "rollouts.jsonl").write_text(content)
    with pytest.raises(DataError, match=r"has no rollout with a reward .*`colbench score"):
        loaded(runs=(str(folder),))


def test_tasks_other_than_those_of_the_run_are_an_error(collected):
    with pytest.raises(DataError, match=r"8 of its tasks are missing"):
        loaded(runs=(str(collected[0]),), tasks="bundled:backend/test")


def test_a_held_out_share_that_selects_no_task_is_an_error(collected):
    with pytest.raises(
        UserError, match=r"data\.held_out 1e-06, data\.seed 0: none of 8 tasks is in"
    ):
        loaded(runs=(str(collected[0]),), held_out=1e-6)


@pytest.mark.parametrize("content", ["", "{", '{"schema": "colbench.run/1"}'])
def test_a_damaged_record_of_a_run_is_an_error(content, collected, tmp_path):
    shutil.copytree(collected[0], tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(content)
    with pytest.raises(UserError, match=r"run\.json"):
        sources(DataSettings(runs=(str(tmp_path / "run"),)))
