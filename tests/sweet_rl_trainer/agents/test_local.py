"""A checkpoint as an agent of the harness, without a server."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from functools import cached_property

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.cli import main
from colbench.messages import Message
from sweet_rl_trainer.agents.local import LocalAgent, LocalChat, LocalHuman
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.model.checkpoint import load_tokenizer

FLAGS = ("--tasks", "bundled:backend/train", "--limit", "4", "--max-turns", "3")


def evaluate(model, out, *flags):
    agent = ("--agent", f"local:{model}", "--agent-arg", "max_tokens=12")
    return main(["eval", *agent, *FLAGS, "--out", str(out), *flags])


def rollouts(folder):
    lines = (folder / "rollouts.jsonl").read_text().splitlines()
    return {each["task_id"]: each for each in map(json.loads, lines)}


def said(folder):
    return {
        name: [turn["raw"] for turn in each["turns"]] for name, each in rollouts(folder).items()
    }


@pytest.mark.weekly
def test_a_run_is_the_same_at_any_concurrency(small_model, tmp_path):
    assert evaluate(small_model, tmp_path / "one", "--concurrency", "1") == 0
    assert evaluate(small_model, tmp_path / "all", "--concurrency", "4") == 0
    assert said(tmp_path / "one") == said(tmp_path / "all")
    assert len({reply for each in said(tmp_path / "one").values() for reply in each}) == 12


class WatchedChat(LocalChat):
    """A local model that records the threads in which the checkpoint is loaded."""

    loaded_in: list[threading.Thread]

    @cached_property
    def _ends(self):
        self.loaded_in.append(threading.current_thread())
        return super()._ends


async def test_the_checkpoint_is_loaded_once_and_off_the_event_loop(small_model):
    chat = WatchedChat(str(small_model), dtype="float32", rows=4)
    chat.loaded_in = []
    asked = [Message(role="user", content="A.")]
    replies = (chat.chat(asked, temperature=1.0, max_tokens=4, seed=seed) for seed in range(3))
    await asyncio.gather(*replies)
    (thread,) = chat.loaded_in
    assert thread is not threading.current_thread()


async def test_the_prompt_has_the_chat_templates_variables(
    small_model, thinking_templates, tmp_path
):
    folder = shutil.copytree(small_model, tmp_path / "model")
    (folder / "chat_template.jinja").write_text(thinking_templates["qwen3"])
    asked = [Message(role="user", content="A.")]
    for variables in ({}, {"enable_thinking": False}):
        agent = LocalAgent(str(folder), template_args=json.dumps(variables))
        said = await agent._local.chat(asked, temperature=1.0, max_tokens=4, seed=0, tokens=True)
        chat = Chat(load_tokenizer(folder), template_args=variables)
        assert list(said.sampled.prompt) == chat.prompt(asked, where="a question")
        assert ("think" in chat.render(asked, where="a question")) is bool(variables)


def test_variables_that_are_not_a_json_object_are_refused(small_model, tmp_path, capsys):
    assert evaluate(small_model, tmp_path / "run", "--agent-arg", "template_args=x") == 2
    assert "template_args 'x': " in capsys.readouterr().err


def test_the_trainer_reads_the_recorded_tokens(small_model, tmp_path):
    assert evaluate(small_model, tmp_path / "run", "--record-tokens") == 0
    for trajectory in read_run(tmp_path / "run"):
        assert len(trajectory.sampled) == 3
        assert all(1 <= len(turn.ids) <= 12 for turn in trajectory.sampled)


def test_an_empty_prompt_file_gives_no_system_message(small_model, tmp_path):
    (tmp_path / "none.txt").write_text("")
    flags = ("--agent-prompt", str(tmp_path / "none.txt"))
    assert evaluate(small_model, tmp_path / "run", *flags) == 0
    (first, *_) = read_run(tmp_path / "run")
    assert [message.role for message in first.messages[:2]] == ["user", "assistant"]


def test_a_reply_that_does_not_fit_the_context_is_an_agent_failure(small_model, tmp_path):
    assert evaluate(small_model, tmp_path / "run", "--agent-arg", "max_tokens=16384") == 1
    for each in rollouts(tmp_path / "run").values():
        reason = "no room for a reply of max_tokens=16384 in the model's context of 16384 tokens"
        assert reason in each["failure"]["reason"]
        assert each["scores"]["default"]["value"] == 0


def test_a_reply_that_is_not_an_answer_is_drawn_only_once_without_answers(small_model, tmp_path):
    assert evaluate(small_model, tmp_path / "run", "--agent-arg", "answers=false") == 0
    for each in rollouts(tmp_path / "run").values():
        drawn = [turn["agent_usage"]["requests"] for turn in each["turns"]]
        assert drawn == [1, 1, 1]  # the model never answers, so no reply is drawn again


def test_a_folder_without_a_checkpoint_is_refused(tmp_path, capsys):
    assert evaluate(tmp_path, tmp_path / "run") == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_checkpoint_plays_the_human_with_the_agents_weights(small_model, tmp_path):
    human = ("--human", f"local:{small_model}", "--human-arg", "max_tokens=8")
    assert evaluate(small_model, tmp_path / "run", *human) == 0
    turns = [turn for each in rollouts(tmp_path / "run").values() for turn in each["turns"]]
    assert sum(1 for turn in turns if turn.get("human")) == 8
    agent, other = LocalAgent(str(small_model)), LocalHuman(str(small_model))
    assert agent._local is other._local
    assert LocalHuman(str(small_model), dtype="bfloat16")._local is not agent._local


def test_a_prompt_that_does_not_fit_the_humans_context_is_a_simulator_failure(
    small_model, tmp_path
):
    human = ("--human", f"local:{small_model}", "--human-arg", "max_tokens=16384")
    assert evaluate(small_model, tmp_path / "run", *human) == 1
    failures = {each["failure"]["boundary"] for each in rollouts(tmp_path / "run").values()}
    assert failures == {"simulator"}
