"""Answers that a second checkpoint writes."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.cli import main
from colbench.messages import Message, Usage
from sweet_rl_trainer.agents.local import LocalChat
from sweet_rl_trainer.agents.two_model import TwoModelChat

AGENT = "sweet_rl_trainer.agents.two_model:TwoModelAgent"
DIALOGUE = [Message(role="user", content="I need a function.")]


class Says:
    """A chat model that always gives the same reply."""

    def __init__(self, words):
        self._words = words

    async def chat(self, messages, *, temperature, max_tokens, seed, tokens=False, begun=""):
        usage = Usage(prompt_tokens=5, completion_tokens=2, requests=1)
        return Message(role="assistant", content=self._words, usage=usage)


def said(words, model, seed=0):
    chat = TwoModelChat(Says(words), LocalChat(str(model), dtype="float32", rows=4))
    return asyncio.run(chat.chat(DIALOGUE, temperature=1.0, max_tokens=12, seed=seed))


def test_a_question_of_the_asker_is_kept(small_model):
    assert said("What is the rate?", small_model).content == "What is the rate?"


def test_an_answer_comes_from_the_writer_after_the_answer_marker(small_model):
    one = said("So. I WANT TO ANSWER:\n  def f(): pass", small_model)
    other = said("So. I WANT TO ANSWER:\n  return 1", small_model)
    assert one.content.startswith("So. I WANT TO ANSWER:\n  ")
    assert "def f" not in one.content
    assert one.content == other.content
    assert one.usage.requests == 2
    assert 2 < one.usage.completion_tokens <= 2 + 12
    assert said("I WANT TO ANSWER: 1", small_model, 1) != said("I WANT TO ANSWER: 1", small_model)


def test_the_writer_continues_from_the_beginning_of_the_reply(small_model):
    model = LocalChat(str(small_model), dtype="float32", rows=4)

    def reply(begun):
        asked = model.chat(DIALOGUE, temperature=0.0, max_tokens=12, seed=0, begun=begun)
        return asyncio.run(asked).content

    whole = reply("")
    begun = whole[: len(whole) // 2]
    assert reply(begun).startswith(begun)
    assert reply("price = 12\n").removeprefix("price = 12\n") != whole


def test_a_run_works_with_two_checkpoints(small_model, tmp_path):
    models = (f"--agent-arg=asker={small_model}", f"--agent-arg=writer={small_model}")
    tasks = ("--tasks", "bundled:backend/train", "--limit", "2", "--max-turns", "2")
    run = ("--agent", AGENT, *models, "--agent-arg=max_tokens=8", *tasks)
    assert main(["eval", *run, "--out", str(tmp_path / "run")]) == 0
    lines = (tmp_path / "run" / "rollouts.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["turns"]) for line in lines] == [2, 2]


def test_a_folder_that_is_not_a_checkpoint_is_refused(small_model, tmp_path, capsys):
    models = (f"--agent-arg=asker={small_model}", f"--agent-arg=writer={tmp_path}")
    run = ("--agent", AGENT, *models, "--tasks", "bundled:backend/train", "--limit", "1")
    assert main(["eval", *run, "--out", str(tmp_path / "run")]) == 2
    assert str(tmp_path) in capsys.readouterr().err
