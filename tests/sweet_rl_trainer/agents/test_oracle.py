"""The oracle asker and the oracle writer, in dialogues with the rule-based human."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.cli import main
from colbench.errors import AgentError
from colbench.messages import Message
from sweet_rl_trainer.agents.oracle import OracleAsker, OracleWriter

AGENT = "sweet_rl_trainer.agents.two_model:TwoModelAgent"
TASKS = "generated:backend/train?number=12&families=loyalty,hotel"


def rollouts(out, *flags):
    assert main(["eval", "--agent", AGENT, "--tasks", TASKS, *flags, "--out", str(out)]) == 0
    return [json.loads(line) for line in (out / "rollouts.jsonl").read_text().splitlines()]


def test_an_agent_with_oracle_asker_and_writer_solves_every_task(tmp_path):
    found = rollouts(tmp_path / "run", "--agent-arg=asker=oracle", "--agent-arg=writer=oracle")
    assert [each["scores"]["default"]["success"] for each in found] == [True] * 12


def test_an_oracle_without_questions_writes_the_usual_choices(tmp_path):
    flags = ("--agent-arg=asker=oracle", "--agent-arg=writer=oracle", "--agent-arg=questions=0")
    found = rollouts(tmp_path / "run", *flags)
    guessed = tmp_path / "guessed"
    guess = ("eval", "--agent", "interviewer", "--agent-arg", "max_questions=0", "--tasks", TASKS)
    assert main([*guess, "--out", str(guessed)]) == 0
    lines = map(json.loads, (guessed / "rollouts.jsonl").read_text().splitlines())
    theirs = {each["task_id"]: each["answer"].strip() for each in lines}
    assert {each["task_id"]: each["answer"].strip() for each in found} == theirs


def test_the_oracle_writer_gives_the_answer_that_the_told_facts_allow(tmp_path):
    demonstrators = ("--agent", "demonstrator", "--agent-arg", "slips=false")
    assert main(["eval", *demonstrators, "--tasks", TASKS, "--out", str(tmp_path / "run")]) == 0
    lines = map(json.loads, (tmp_path / "run" / "rollouts.jsonl").read_text().splitlines())
    answered = [each for each in lines if each["ended_by"] == "answer"]
    assert len(answered) >= 8
    for each in answered:
        messages = [Message(role="user", content=each["request"])]
        for turn in each["turns"][:-1]:
            messages += [
                Message(role="assistant", content=turn["said"]),
                Message(role="user", content=turn["human"]),
            ]
        written = asyncio.run(OracleWriter().chat(messages, begun="I WANT TO ANSWER:"))
        assert written.content.removeprefix("I WANT TO ANSWER:").strip() == each["answer"].strip()


def test_a_system_prompt_is_not_part_of_the_dialogue():
    request = "A function of no family.\ndef f(x)"
    messages = [Message(role="system", content="Ask."), Message(role="user", content=request)]
    with pytest.raises(AgentError, match="the oracle does not know the request's task family"):
        asyncio.run(OracleWriter().chat(messages))
    asked = asyncio.run(OracleAsker(1).chat(messages))
    assert asked.content == asyncio.run(OracleAsker(1).chat(messages[1:])).content
