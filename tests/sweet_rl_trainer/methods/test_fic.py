"""The self-teacher: the message that it gets, and the training data from its answers."""

from __future__ import annotations

import re
import shutil

import pytest
from msgspec.structs import replace

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.asking.opening import opening
from colbench.errors import DataError, UserError
from colbench.messages import ANSWER_MARKER, Message
from colbench.task import Fact, Hidden, Task
from sweet_rl_trainer.cli import main
from sweet_rl_trainer.data import files
from sweet_rl_trainer.methods.fic import single_turn
from sweet_rl_trainer.pipeline.plan import plan
from sweet_rl_trainer.pipeline.read import read

FACTS = (
    Fact(name="late", topics=("late",), statement="Late is after a day."),
    Fact(name="unit", topics=("unit",), statement="It counts hours."),
    Fact(name="empty", topics=("empty",), statement="Nothing gives 0.", stated=True),
)
TASK = Task(
    id="late",
    domain="backend",
    request="Write it. Nothing gives 0. The signature is: def f(days)",
    hidden=Hidden(reference="def f(days): return 0", facts=FACTS),
)
ANSWER = f"{ANSWER_MARKER}\ndef f(days): return 1"


@pytest.fixture
def asked(dialogue):
    """Return a dialogue that asked for one of two hidden facts, with a system prompt."""
    made = dialogue(
        replies=("When is it late?", ANSWER), heard=(TASK.request, "Late is after a day.")
    )
    system = Message(role="system", content="Be brief.")
    return replace(made, task_hash=TASK.hash, messages=(system, *made.messages))


@pytest.mark.parametrize(
    ("knows", "told"),
    [
        ("everything", "Late is after a day. It counts hours."),
        ("dialogue", "Late is after a day."),
    ],
)
def test_the_teacher_gets_one_message_with_the_decisions_that_it_may_know(knows, told, asked):
    view = single_turn(asked, TASK, knows)
    assert [(each.role, each.content) for each in view.messages] == [
        ("system", "Be brief."),
        ("user", f"Write it. Nothing gives 0. {told}  The signature is: def f(days)"),
        ("assistant", ANSWER),
    ]
    assert view.replies == view.said == (ANSWER,)
    assert (view.id, view.task_hash) == ("d, told at once", TASK.hash)


def test_the_teacher_of_a_dialogue_that_began_with_every_decision_gets_them_all(asked):
    first = Message(role="user", content=opening(TASK, "all"))
    at_once = replace(asked, messages=(asked.messages[0], first, asked.messages[-1]))
    assert single_turn(at_once, TASK, "dialogue").messages == at_once.messages


@pytest.fixture
def made(small_recipe, tmp_path, served):
    """Return `made(script, …)`: it runs the first two stages with a scripted teacher.

    It returns all stages, the reports of the first two, and the requests to the teacher.
    """

    def make(script, *changes):
        with served(script) as server:
            where = (f"sample.server=scripted@{server.base_url}", "sample.record_tokens=false")
            stages = plan(read(str(small_recipe), [*where, *changes]), "fic")
            reports = [each.run(tmp_path) for each in stages[:2]]
            return stages, reports, server.requests

    return make


def test_each_answer_of_the_teacher_follows_the_dialogue_that_it_answers(made, tmp_path):
    numbers = iter(range(10_000))
    stages, (sampled, report), requests = made(
        lambda _: ANSWER if next(numbers) % 3 else "When is it late?", "fic.count=3"
    )
    folder = stages[1].folder(tmp_path)
    assert sampled.said["turns"] > 0
    assert all(len(body["messages"]) <= 2 for body in requests)
    train, held_out = files.read(folder / files.TRAIN), files.read(folder / files.HELD_OUT)
    dropped = report.said["dropped"]["replies of the teacher without an answer"]
    assert report.said["taken"] == len(train) > dropped > 0
    assert held_out
    by_dialogue = {each.trajectory.rpartition(", answer ")[0] for each in train}
    assert any(name.endswith("turn 1") for name in by_dialogue), "who guesses answers at once"
    assert any(not name.endswith("turn 1") for name in by_dialogue), "who asks answers later"
    for each in train:
        (example,) = each.examples
        weighted = [weight for weight in example.token_weights if weight]
        assert len(weighted) == each.reply_tokens
        assert sum(weighted) == pytest.approx(1, abs=1e-5)


def test_a_plan_counts_the_dialogues_that_the_teacher_answers(small_recipe, capfd):
    assert main(["run", str(small_recipe), "--until", "fic", "--dry-run"]) == 0
    said = capfd.readouterr().out
    assert re.search(r"fic-answers-\w+ +to do +16\b", said)
    assert "the examples are dialogues, with 4 answers each" in said


def test_a_teacher_that_never_answers_is_an_error(made):
    with pytest.raises(DataError, match="none of the teacher's replies can be used for training"):
        made(lambda _: "When is it late?", "fic.count=2")


def test_dialogues_without_an_answer_are_refused(small_recipe, collected, tmp_path):
    run = shutil.copytree(collected[0], tmp_path / "run")
    text = (run / "rollouts.jsonl").read_text()
    (run / "rollouts.jsonl").write_text(text.replace('"ended_by":"answer"', '"ended_by":"limit"'))
    recipe = read(str(small_recipe), [f'data.runs=["{run}"]', "data.held_out=0"])
    with pytest.raises(
        UserError, match="fic: no dialogue has both an answer and a task whose decisions are known"
    ):
        plan(recipe, "fic")[0].run(tmp_path / "out")


@pytest.mark.weekly
def test_the_policy_is_trained_on_the_answers_and_exported(made, tmp_path):
    stages, *_ = made(lambda _: ANSWER, "fic.train.max_steps=2", "fic.count=2")
    assert [each.name for each in stages] == ["fic-answers", "fic-data", "fic", "export"]
    trained, _ = [each.run(tmp_path) for each in stages[2:]]
    assert trained.said["step"] == 2
    assert (stages[3].folder(tmp_path) / "model" / "config.json").is_file()
