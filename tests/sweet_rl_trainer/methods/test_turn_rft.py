"""Turn-wise RFT: which turns are imitated, and the loss of their tokens."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.asking.telling import told
from colbench.errors import DataError
from colbench.run_folder import RunFolder
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.examples import side_examples
from sweet_rl_trainer.data.runs import read_run, tasks_of
from sweet_rl_trainer.methods.credit.scale import NoScaleError
from sweet_rl_trainer.methods.turn_rft import credited, kept_turns
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.train.loss import negative_log_likelihoods

REPLIES = ("Late?", "Big?", "def f(): 0")
HEARD = ("Write it.", "A day.", "I do not know.")


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"reward": 1.0}, {0, 2}),
        ({"reward": 0.9}, {0}),
        ({"reward": 0.9, "at_least": 0.9}, {0, 2}),
        ({"reward": 1.0, "ended_by": "limit"}, {0}),
        ({"reward": 1.0, "cost": 0.3}, {2}),
        ({"reward": 1.0, "potentials": (0.5, 0.4, 0.45)}, {1, 2}),
    ],
    ids=["success", "failure", "lower bar", "no answer", "high cost", "other potentials"],
)
def test_kept_turns_are_questions_with_credit_and_successful_answers(fields, kept, dialogue):
    given = {"cost": 0.01, "at_least": 1.0, "potentials": (0.2, 0.5, 0.505), **fields}
    how = {name: given.pop(name) for name in ("cost", "at_least")}
    potentials = given.pop("potentials")
    assert kept_turns(dialogue("d", REPLIES, HEARD, **given), potentials, **how) == kept


def test_rejected_turns_weigh_nothing_and_kept_turns_weigh_as_in_rft(dialogue, chat):
    made = dialogue("d", REPLIES, HEARD)
    (whole,), _ = side_examples([made], chat, "trajectory-mean", max_length=1000)
    (part,), report = side_examples(
        [made], chat, "trajectory-mean", max_length=1000, kept={"d": {0, 2}}
    )
    (before,), (after,) = whole.examples, part.examples
    assert after.ids == before.ids
    lengths = [len(chat.encode(text)) + 1 for text in REPLIES]
    assert whole.reply_tokens == sum(lengths)
    assert part.reply_tokens == lengths[0] + lengths[2]
    weighted = [number for number, weight in enumerate(after.token_weights) if weight]
    assert len(weighted) == part.reply_tokens
    assert all(after.token_weights[n] == before.token_weights[n] for n in weighted)
    assert before.token_weights[weighted[0]] == pytest.approx(1 / sum(lengths))
    assert report.taken == 1


def test_the_loss_of_a_dialogue_is_the_mean_over_the_tokens_of_its_kept_turns(dialogue, chat):
    made = dialogue("d", REPLIES, HEARD)
    (side,), _ = side_examples([made], chat, "trajectory-mean", max_length=1000, kept={"d": {0}})
    row = lay_out([[side.examples]])
    logprobs = -torch.arange(1.0, 1 + len(row.targets))
    assert len(row.targets) == side.reply_tokens == len(chat.encode(REPLIES[0])) + 1
    assert negative_log_likelihoods(row, logprobs).tolist() == [-logprobs.mean().item()]


def test_dialogues_without_a_known_task_or_a_potential_get_no_credit(dialogue):
    known, unknown = dialogue("known"), dialogue("unknown", task_hash="b" * 64)
    tasks = {known.task_hash: None}
    found = list(credited([known, unknown], tasks, lambda states: [0.5] * len(states)))
    assert [(each.id, values) for each, values in found] == [("known", [0.5, 0.5])]
    assert not list(credited([known], tasks, lambda states: [0.5, None][: len(states)]))


def test_only_revealing_questions_and_successful_answers_are_imitated(
    small_recipe, collected, tmp_path
):
    changes = ("turn-rft.scores=facts", "rank.scale=none", "data.held_out=0")
    *_, data, _, _ = plan(read(str(small_recipe), changes), "turn-rft")
    report = data.run(tmp_path)
    train = {each.trajectory: each for each in files.read(data.folder(tmp_path) / files.TRAIN)}
    assert report.said["taken"] == len(train)
    turns = 0
    for number, folder in enumerate(collected):
        tasks = {task.hash: task for task in tasks_of(RunFolder(folder).record(), folder)}
        for dialogue in read_run(folder):
            task, heard = tasks[dialogue.task_hash], dialogue.messages[2::2]
            revealing = [
                bool(told(task, said, reply.content))
                for said, reply in zip(dialogue.replies, heard, strict=False)
            ]
            most = sum(revealing) + (dialogue.reward == 1)
            assert (f"{number}:{dialogue.id}" in train) <= bool(most)
            turns += most
    assert 0 < report.said["turns"] <= turns


def test_a_policy_is_trained_with_the_credit_of_gain(small_recipe, tmp_path):
    changes = ("rank.scale=none", "rank.cost=0", "data.held_out=0")
    stages = plan(read(str(small_recipe), changes), "turn-rft")
    said = [stage.run(tmp_path).said for stage in stages]
    assert said[0]["turns"] >= said[0]["taken"] > 0
    assert (stages[-1].folder(tmp_path) / "model" / "config.json").is_file()


def test_dialogues_without_a_kept_turn_cannot_be_trained_on(small_recipe, tmp_path):
    changes = ("turn-rft.scores=facts", "turn-rft.at_least=2", "rank.cost=2", "rank.scale=none")
    data = plan(read(str(small_recipe), changes), "turn-rft")[-3]
    with pytest.raises(
        DataError, match=r"^none of [1-9]\d* dialogues has a turn to imitate \(without a kept turn"
    ):
        data.run(tmp_path)


def test_an_error_about_the_scale_names_the_setting_and_the_fix(small_recipe, tmp_path):
    data = plan(
        read(str(small_recipe), ["turn-rft.scores=facts", "data.held_out=0.6"]), "turn-rft"
    )[-3]
    with pytest.raises(
        NoScaleError, match=r'^rank\.scale "fit": only . answers have a .* rank\.scale="none" to '
    ):
        data.run(tmp_path)
