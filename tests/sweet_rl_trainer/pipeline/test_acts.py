"""The stages that run in this process, on a few real dialogues: collect, sample, rank, diagnose, export."""

from __future__ import annotations

import asyncio
import gc
import math
from array import array
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from transformers import LlamaForCausalLM

from colbench.errors import UserError
from colbench.messages import ANSWER_MARKER
from colbench.run_folder import RunFolder
from colbench_agents.interviewer import Interviewer
from sweet_rl_trainer.data import files
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.methods.critic.diagnose import DIAGNOSIS, decode
from sweet_rl_trainer.methods.critic.diagnosis import preset_of
from sweet_rl_trainer.methods.ranking.files import SAMPLED, SCORED, Line, Sampled, read_scored
from sweet_rl_trainer.methods.ranking.sample import server_args
from sweet_rl_trainer.methods.ranking.scorers import Scorers
from sweet_rl_trainer.model.checkpoint import load_tokenizer
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.load import load_model
from sweet_rl_trainer.model.packing import lay_out
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read
from sweet_rl_trainer.pipeline.stage import DONE, Report, Source
from sweet_rl_trainer.pipeline.stage import read as read_json

torch.set_num_threads(1)


def run_stages(recipe, out, goal):
    """Run all stages that lead to the goal; return the last one and its report."""
    stages = plan(recipe, goal)
    for stage in stages:
        report = stage.report(out) or stage.run(out)
    return stages[-1], report


def lines(path, kind):
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()]


def test_the_collect_stage_writes_a_run_folder_and_a_report(tmp_path):
    recipe = read(
        "tiny-cpu",
        ["data.held_out=0.3"],
        {"collect": [{"agent": "guesser", "tasks": "bundled:backend/train", "limit": 3}]},
    )
    _, collect, *_ = plan(recipe)
    report = collect.run(tmp_path)
    assert report.said == {"agent": "guesser"}
    folder = collect.folder(tmp_path) / "run"
    assert len(RunFolder(folder).rollouts()) == 3
    assert RunFolder(folder).record().config.agent == "guesser"
    assert "tests passed" in (collect.folder(tmp_path) / "report.txt").read_text()


@pytest.mark.weekly
def test_a_failed_collect_stage_is_an_error_and_is_not_finished(tmp_path, capfd):
    recipe = read("tiny-cpu", values={"collect": [{"agent": "nobody", "limit": 1}]})
    _, collect, *_ = plan(recipe)
    with pytest.raises(
        UserError, match=r"collect-\w+: running the dialogues failed with exit code 2; .* delete "
    ):
        collect.run(tmp_path)
    assert "nobody" in capfd.readouterr().err
    assert collect.report(tmp_path) is None


def test_a_tiny_base_model_is_built_identically_each_time(tmp_path):
    digests = []
    for out in (tmp_path / "one", tmp_path / "other"):
        base = plan(read("tiny-cpu"))[0]
        digests.append(base.run(out).said["model"])
        folder = base.folder(out) / "model"
    assert digests[0] == digests[1] == model_digest(folder)
    assert load_model(folder).config.num_hidden_layers == 2
    assert load_tokenizer(folder).chat_template


def test_candidates_are_sampled_in_this_process(small, tmp_path):
    stage, report = run_stages(small(), tmp_path, "sample")
    found = lines(stage.folder(tmp_path) / SAMPLED, Sampled)
    assert report.said == {"turns": len(found), "left out": {}}
    assert found
    for line in found:
        assert len(line.replies) == 3
        assert line.prompt
        assert all(1 <= len(reply.ids) <= 4 for reply in line.replies)


def test_candidates_are_sampled_from_a_server(small, tmp_path, served):
    with served(lambda messages: messages[-1].content[:5]) as server:
        changes = (f"sample.server=scripted@{server.base_url}", "sample.concurrency=2")
        stage, report = run_stages(small(*changes), tmp_path, "sample")
        asked = len(server.requests)
        assert {body["max_tokens"] for body in server.requests} == {4}
    found = lines(stage.folder(tmp_path) / SAMPLED, Sampled)
    assert report.said["turns"] == len(found)
    assert asked <= 3 * len(found)  # turns with the same context share their candidates
    assert all(reply.ids[-1] == 0 for line in found for reply in line.replies)


def test_replies_without_recorded_tokens_are_ranked_by_their_text(small, tmp_path, served):
    numbers = iter(range(10_000))
    with served(lambda _: f"Say {next(numbers)}.") as server:
        where = f"sample.server=scripted@{server.base_url}"
        changes = (where, "sample.record_tokens=false", "rank.scores=pmi", "rank.pairs=best-worst")
        stage, report = run_stages(small(*changes), tmp_path, "rank")
    assert report.said["pairs"] > 0
    (line, *_) = lines(stage.folder(tmp_path) / SCORED, Line)
    assert all(text.startswith("Say ") for text in line.replies)


def test_an_actor_with_nll_loss_imitates_chosen_replies_without_pairs(small, tmp_path):
    recipe = small("rank.scores=pmi", "actor.loss=nll", "actor.train.max_steps=1")
    stage, _ = run_stages(recipe, tmp_path, "actor")
    assert stage.name == "export"
    (ranked,) = tmp_path.glob("rank-*")
    sides = files.read(ranked / files.TRAIN)
    assert sides
    assert all(isinstance(each, Side) for each in sides)
    best = {
        f"{line.trajectory}, turn {line.turn + 1}": max(line.scores)
        for line in lines(ranked / SCORED, Line)
    }
    assert all(each.reward <= best[each.trajectory.rpartition(", ")[0]] for each in sides)
    (trained,) = tmp_path.glob("actor-*")
    said = read_json(trained / DONE, Report).said
    assert said["step"] == 1
    assert "accuracy" not in said


def test_ranking_without_a_critic_pairs_training_and_held_out_candidates(small, tmp_path):
    stage, report = run_stages(small("rank.scores=pmi"), tmp_path, "rank")
    folder = stage.folder(tmp_path)
    scored = lines(folder / SCORED, Line)
    assert report.said["turns"] == len(scored)
    train, held_out = files.read(folder / files.TRAIN), files.read(folder / files.HELD_OUT)
    assert (report.said["pairs"], report.said["held_out"]) == (len(train), len(held_out))
    assert train
    assert held_out
    assert {each.task_hash for each in train}.isdisjoint(each.task_hash for each in held_out)
    by_name = {
        f"{line.trajectory}, turn {line.turn + 1}, candidate {n}": score
        for line in scored
        for n, score in enumerate(line.scores, 1)
    }
    for pair in (*train, *held_out):
        assert isinstance(pair, PairExample)
        assert pair.chosen.reward == by_name[pair.chosen.trajectory]
        assert pair.chosen.reward > pair.rejected.reward
    texts = {
        f"{line.trajectory}, turn {line.turn + 1}, candidate {n}": text
        for line in scored
        for n, text in enumerate(line.replies, 1)
    }
    for role in ("chosen", "rejected"):
        replies = [texts[getattr(pair, role).trajectory] for pair in train]
        answers = sum("I WANT TO ANSWER" in text for text in replies)
        assert report.said[f"answers_among_{role}"] == answers / len(replies)


@pytest.mark.weekly
def test_candidates_are_ranked_by_the_returns_of_their_continuations(small, tmp_path, served):
    numbers = iter(range(10_000))
    wrong = f"{ANSWER_MARKER}\ndef nothing():\n    return 0"

    def script(_):
        number = next(numbers)
        return wrong if number % 3 == 0 else f"Is it {number}?"

    with served(script) as server:
        where = f"sample.server=scripted@{server.base_url}"
        changes = (where, "sample.record_tokens=false", "sample.count=6", "rank.continuations=2")
        stage, report = run_stages(small("rank.scores=returns", *changes), tmp_path, "rank")
    found = lines(stage.folder(tmp_path) / SCORED, Line)
    assert report.said["turns"] == len(found)
    asked = [
        score
        for line in found
        for text, score in zip(line.replies, line.scores, strict=True)
        if text != wrong
    ]
    answered = [
        score
        for line in found
        for text, score in zip(line.replies, line.scores, strict=True)
        if text == wrong
    ]
    assert set(answered) == {0.0}
    assert sum(asked) / len(asked) > 0.5, "who goes on asks all that it has to"
    train = files.read(stage.folder(tmp_path) / files.TRAIN)
    assert {(pair.chosen.reward > 0, pair.rejected.reward) for pair in train} >= {(True, 0.0)}


BLIND = f"{ANSWER_MARKER}\ndef nothing():\n    return 0"
USELESS = "Which version of Python do you use?"


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["facts", pytest.param("gain", marks=pytest.mark.weekly)])
def test_candidates_are_ranked_by_the_human_reply_that_follows(scores, small, tmp_path, served):
    numbers = iter(range(10_000))
    said = (BLIND, USELESS, "What should be returned?")

    with served(lambda _: said[next(numbers) % 3]) as server:
        where = f"sample.server=scripted@{server.base_url}"
        changes = (where, "sample.record_tokens=false", "sample.count=3", "rank.pairs=margin")
        more = ("rank.scale=none", "rank.cost=0.125", "sample.data_fraction=1")
        stage, report = run_stages(
            small(f"rank.scores={scores}", *changes, *more), tmp_path, "rank"
        )
    found = lines(stage.folder(tmp_path) / SCORED, Line)
    assert report.said["turns"] == len(found)
    by_text = [dict(zip(line.replies, line.scores, strict=True)) for line in found]
    useless = [each[USELESS] for each in by_text if each.get(USELESS) is not None]
    asked = [each[said[2]] for each in by_text if each.get(said[2]) is not None]
    assert useless
    if scores == "facts":
        assert set(useless) <= {-0.125, 0.0}, "nothing is settled, or the turns are over"
        assert max(asked) > 0
        assert all(each.get(BLIND, 0) <= 0 for each in by_text)
    else:
        assert len(set(asked)) > 1


def test_facts_rank_useful_questions_first_until_all_facts_are_told(small, tmp_path, served):
    """Rank a good question, a useless one, the best code for the facts told so far, and wrong code."""
    numbers = iter(range(10_000))

    def script(messages):
        dialogue = [each for each in messages if each.role != "system"]
        number = next(numbers) % 4
        if number % 2:
            return (USELESS, BLIND)[number // 2]
        speaker = (Interviewer(), Interviewer(max_questions=0))[number // 2]
        with ThreadPoolExecutor(1) as thread:  # the server has its own event loop
            return thread.submit(asyncio.run, speaker.reply(dialogue)).result().content

    with served(script) as server:
        where = (f"sample.server=scripted@{server.base_url}", "sample.concurrency=1")
        more = ("sample.record_tokens=false", "sample.count=4", "sample.data_fraction=1")
        stage, _ = run_stages(small("rank.scores=facts", *where, *more), tmp_path, "rank")
    early, late = [], []
    for line in lines(stage.folder(tmp_path) / SCORED, Line):
        scores = dict(zip(line.replies, line.scores, strict=True))
        code = [text for text in scores if text.startswith(ANSWER_MARKER) and text != BLIND]
        asked = [text for text in scores if not text.startswith(ANSWER_MARKER) and text != USELESS]
        if len(scores) == 4 and len(code) == len(asked) == 1:
            early.append([scores[each] for each in (*asked, USELESS, *code, BLIND)])
        elif len(scores) == 3 and code:
            late.append([scores[each] for each in (*code, USELESS, BLIND)])
    assert len(early) > 10
    assert len(late) > 2
    assert share(good > useless for good, useless, *_ in early) > 0.6, "others are as one guesses"
    assert share(good < useless for good, useless, *_ in early) < 0.1, "they pass by luck without"
    assert share(good > right for good, _, right, _ in early) > 0.8
    assert share(right >= wrong for *_, right, wrong in early) > 0.9
    assert all(right > useless > wrong for right, useless, wrong in late)


def share(values):
    values = list(values)
    return sum(values) / len(values)


@pytest.mark.weekly
def test_facts_scores_report_the_line_fitted_to_the_rewards(small, tmp_path, served):
    numbers = iter(range(10_000))
    with served(lambda _: (BLIND, USELESS)[next(numbers) % 2]) as server:
        where = f"sample.server=scripted@{server.base_url}"
        changes = (where, "sample.record_tokens=false", "sample.count=2", "sample.data_fraction=1")
        _, report = run_stages(small("rank.scores=facts", *changes), tmp_path, "rank")
    assert report.said["slope"] > 0.5, "who knows more facts has a higher reward"
    assert report.said["intercept"] + report.said["slope"] == pytest.approx(1, abs=0.1)


@pytest.mark.weekly
def test_scored_candidates_are_read_for_the_given_trajectories_only(small, tmp_path):
    from sweet_rl_trainer.pipeline.inputs import load

    recipe = small("rank.scores=pmi")
    stage, _ = run_stages(recipe, tmp_path, "rank")
    inputs = {name: each.path for name, each in stage.inputs.items() if isinstance(each, Source)}
    held_out = {each.id: each for each in load(recipe.data, inputs).held_out}
    wanted = [
        line for line in lines(stage.folder(tmp_path) / SCORED, Line) if line.trajectory in held_out
    ]
    found = read_scored(stage.folder(tmp_path), held_out)
    assert wanted
    assert [each.scores for each in found] == [line.scores for line in wanted]
    assert [each.candidates.turn.trajectory.id for each in found] == [
        line.trajectory for line in wanted
    ]


def test_every_dialogue_of_rejection_fine_tuning_is_taken_held_out_or_left_out(small, tmp_path):
    said = plan(small(), "rft")[0].run(tmp_path).said
    left = {**said["dropped"], **said["left out"]}
    assert left["unsuitable as held-out examples"] > 0
    assert said["dialogues"] == said["taken"] + said["held_out"] + sum(left.values())


@pytest.mark.slow
def test_a_critic_is_trained_and_diagnosed_before_and_after_ranking(small, tmp_path):
    recipe = small("critic.train.epochs=1")
    stages = plan(recipe)[:-2]
    reports = [stage.run(tmp_path) for stage in stages]
    assert [stage.name for stage in stages] == [
        "critic-data",
        "critic",
        "diagnose",
        "sample",
        "rank",
        "diagnose",
    ]
    made, trained, first, _, ranked, second = reports
    assert made.said["dialogues"] == 16
    assert trained.said["step"] == math.ceil(made.said["taken"] / 2) > 1
    assert trained.said["eval_accuracy"] is not None
    assert first.said["pairs"] == second.said["pairs"] == made.said["held_out"]
    before, after = (decode((stages[n].folder(tmp_path) / DIAGNOSIS).read_bytes()) for n in (2, 5))
    assert before.missing["candidates"] == "not available yet"
    assert "candidates" not in after.missing
    assert before.accuracy.mean == pytest.approx(after.accuracy.mean)
    assert before.best_of is not None
    assert before.states is not None or "no state qualifies" in before.missing["states"]
    assert before.missing["continuations"] == "diagnose.continuations is 0"
    assert ranked.said["pairs"] > 0


@pytest.mark.parametrize(
    ("changes", "preset"),
    [
        ((), "critic"),
        (("critic.token_weights=trajectory-mean",), "critic"),
        (("critic.token_weights=sum", "rank.scores=critic-sum"), "critic-sum"),
        (("critic.privileged=none", "rank.scores=critic-unprivileged"), "critic-unprivileged"),
        (("critic.train.score=value", "rank.scores=value"), "value"),
    ],
)
def test_the_diagnosis_preset_matches_the_trained_critic(changes, preset):
    recipe = read("tiny-cpu", changes)
    assert preset_of(recipe.tables["critic"]) == recipe.tables["rank"].scores == preset


@pytest.mark.weekly
def test_scoring_models_are_freed_before_the_next_stage(small, small_model, tmp_path):
    def models():
        gc.collect()
        return sum(type(each) is LlamaForCausalLM for each in gc.get_objects())

    before = models()
    row = lay_out([[[Example(ids=array("i", [1, 2]), token_weights=array("f", [0.0, 1.0]))]]])
    with Scorers(small(), small_model, tmp_path) as scorers:
        scorer = scorers.reference()
        assert scorer.logprobs(row).shape == (1,)
        assert models() == before + 1
    assert models() == before


def test_server_arguments_include_the_chat_template_variables():
    changes = ("model.template_args.enable_thinking=false", "sample.server_args.max_model_len=9")
    assert server_args(read("tiny-cpu", changes)) == {
        "default_chat_template_kwargs": '{"enable_thinking":false}',
        "max_model_len": 9,
    }
    assert server_args(read("tiny-cpu", changes[1:])) == {"max_model_len": 9}
