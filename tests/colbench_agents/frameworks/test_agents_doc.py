"""The examples of docs/agents.md, run as written: 20 tasks, killed on the way, with the native agent's results."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from code_blocks import blocks

from colbench.messages import Message
from colbench.models.scripted_server import ScriptedServer
from colbench.rollout import read_rollouts
from colbench_agents.interviewer import Interviewer

pytestmark = pytest.mark.slow

EXAMPLES = {
    "openai": "openai",
    "agents": "openai-agents",
    "langgraph": "langgraph",
    "smolagents": "smolagents",
    "collabllm": "collabllm",
}
"""The modules that the examples of docs/agents.md import, each with the package that it is in."""
TASKS = 20
INTERVIEWER = Interviewer(max_questions=4)


def interview(dialogue):
    """Return the rule-based agent's next message; the agent never waits for anything."""
    try:
        INTERVIEWER.reply(dialogue).send(None)
    except StopIteration as end:
        return end.value.content


def script(messages):
    """Reply as a model that acts like the interviewer, also to smolagents, which formats the dialogue its own way."""
    heard = [
        said for m in messages for said in m.content.split("New task:\n")[1:] if m.role == "user"
    ]
    if not heard:
        return interview([m for m in messages if m.role != "system"])
    dialogue = [Message(role="user", content=heard[0])]
    for said in heard[1:]:
        asked = Message(role="assistant", content=interview(dialogue))
        dialogue += [asked, Message(role="user", content=said)]
    return json.dumps({"name": "final_answer", "arguments": {"answer": interview(dialogue)}})


class Run:
    """A `colbench eval` command that can be repeated, in the folder of the agent's file."""

    def __init__(self, folder: Path, agent: str, server: ScriptedServer) -> None:
        self.folder = folder
        self.rollouts = folder / "run" / "rollouts.jsonl"
        self.command = [sys.executable, "-m", "colbench.cli", "eval", "--agent", agent]
        self.command += ["--limit", str(TASKS), "--concurrency", "4", "--out", "run"]
        self.env = {
            **os.environ,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    async def start(self):
        output = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *self.command, cwd=self.folder, env=self.env, stdout=output, stderr=output
        )

    async def end(self) -> None:
        process = await self.start()
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()

    async def kill_after(self, count: int) -> None:
        process = await self.start()
        ended = asyncio.ensure_future(process.communicate())
        while len(self.lines()) < count:
            await asyncio.wait([ended], timeout=0.02)
            assert not ended.done(), ended.result()
        process.kill()
        await ended

    def lines(self) -> list[str]:
        return self.rollouts.read_text().splitlines() if self.rollouts.exists() else []

    def results(self):
        """Return the turns, the answer and the scores of each task."""
        return {
            each.task_id: (
                [(turn.said, turn.human) for turn in each.turns],
                each.answer,
                {mode: score.value for mode, score in each.scores.items()},
            )
            for each in read_rollouts(self.rollouts)
        }


def example(module):
    """Return the example that imports from a module."""
    programs = [each.text for each in blocks("docs/agents.md") if each.language == "python"]
    (found,) = (each for each in programs if f"from {module}" in each)
    return found


def server_for_all():
    return ScriptedServer(script, model="gpt-4o", delay=0.05)


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """Return the results of the native agent with the same model."""

    async def run():
        async with server_for_all() as server:
            folder = tmp_path_factory.mktemp("native")
            played = Run(folder, f"openai:gpt-4o@{server.base_url}", server)
            await played.end()
            return played.results()

    return asyncio.run(run())


@pytest.mark.parametrize("module", EXAMPLES)
async def test_an_example_finishes_a_killed_run_with_the_scores_of_the_native_agent(
    module, native, needs, tmp_path
):
    needs(EXAMPLES[module])
    (tmp_path / "my_agent.py").write_text(example(module), "utf-8")
    async with server_for_all() as server:
        run = Run(tmp_path, "my_agent.py:agent", server)
        await run.kill_after(3)
        before = run.lines()
        assert len(before) < TASKS
        await run.end()
    assert run.lines()[: len(before) - 1] == before[:-1]
    assert len(run.lines()) == TASKS
    assert run.results() == native
    values = [scores["default"] for _, _, scores in native.values()]
    assert len(set(values)) > 3, "the scores tell nothing if all are the same"


def test_every_example_is_at_most_ten_lines_long():
    for module in EXAMPLES:
        assert len([line for line in example(module).splitlines() if line.strip()]) <= 10
