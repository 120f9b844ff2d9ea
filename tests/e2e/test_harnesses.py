"""ColBench in Inspect AI and in verifiers: the same agent has the same dialogues and the same scores as in ColBench.

`COLBENCH_HARNESSES` names the folder with the environments that `harnesses.sh` makes. The agent is a model behind the
scripted server, and everything is run as a command.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from colbench.config import derive_seed
from colbench.messages import ANSWER_MARKER, PUBLIC_MARKER, Message
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench.rollout import Rollout, read_rollouts
from colbench_agents.interviewer import Interviewer

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parents[2] / "docs" / "other-harnesses.md"
TASKS = 20
TURNS = 5


@pytest.fixture
def harnesses() -> Path:
    value = os.environ.get("COLBENCH_HARNESSES")
    if not value:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "COLBENCH_HARNESSES is not set"
        )
    return Path(value).absolute()


def interviewer(messages: Sequence[Message]) -> str:
    """Asks three questions, and guesses the rest."""
    return _interview(messages, 3)


def eccentric(messages: Sequence[Message]) -> str:
    """Differs by task: answers at once, keeps much private, never answers, begins with silence, or is untidy."""
    manner = derive_seed(messages[1].content) % 5
    reply = _interview(messages, manner)
    return {
        0: reply,
        1: f"They said: {messages[-1].content}. {ANSWER_MARKER} no\n{PUBLIC_MARKER} {reply}",
        2: reply.replace(ANSWER_MARKER, "Like this?"),
        3: reply if len(messages) > 2 else "",
        4: f" \n{reply} \n\n",
    }[manner]


def _interview(messages: Sequence[Message], questions: int) -> str:
    reply = Interviewer(max_questions=questions).reply(messages[1:])
    try:
        reply.send(None)
    except StopIteration as done:
        return done.value.content
    raise AssertionError("an interviewer waits for nothing")


@pytest.mark.parametrize("script", [interviewer, eccentric])
async def test_an_agent_has_the_same_dialogues_and_scores_in_every_harness(
    harnesses: Path, script: Callable[[Sequence[Message]], str], tmp_path: Path
):
    played, heard = {}, {}
    for name, play in (
        ("colbench", natively),
        ("inspect", in_inspect),
        ("verifiers", in_verifiers),
    ):
        async with ScriptedServer(script) as server:
            played[name] = await play(harnesses, server, tmp_path)
            heard[name] = Counter(json.dumps(request["messages"]) for request in server.requests)

    native = played.pop("colbench")
    assert len(native) == TASKS
    values = {rollout.scores["default"].value for rollout in native.values()}
    assert len(values) > 3, "an agent all of whose scores are alike shows little"
    for name, rollouts in played.items():
        assert rollouts.keys() == native.keys(), name
        for task, rollout in rollouts.items():
            assert what_was_said(rollout) == what_was_said(native[task]), (name, task)
            assert rollout.scores == native[task].scores, (name, task)
        assert heard[name] == heard["colbench"], name


def what_was_said(rollout: Rollout) -> Any:
    said = [(turn.raw.strip(), turn.said, turn.human, turn.leak) for turn in rollout.turns]
    return said, rollout.answer, rollout.ended_by, rollout.request, rollout.seed


async def test_the_metrics_of_inspect_are_the_means_of_the_scores(harnesses: Path, tmp_path: Path):
    async with ScriptedServer(interviewer) as server:
        rollouts = list((await in_inspect(harnesses, server, tmp_path, "--epochs=2")).values())
    log = json.loads((tmp_path / "log.json").read_text())
    metrics = {score["name"]: score["metrics"] for score in log["results"]["scores"]}
    verdicts = [rollout.scores["default"] for rollout in rollouts]
    passed = sum(verdict.value or 0.0 for verdict in verdicts) / TASKS
    assert metrics["success"]["mean"]["value"] == sum(bool(v.success) for v in verdicts) / TASKS
    assert metrics["tests_passed"]["mean"]["value"] == pytest.approx(passed)
    assert 0 < metrics["tests_passed"]["stderr"]["value"] < 0.5
    assert metrics["tests_passed"]["stderr"]["params"] == {"cluster": "task"}
    assert len(log["samples"]) == 2 * TASKS


async def test_a_log_of_inspect_is_scored_again(harnesses: Path, tmp_path: Path):
    async with ScriptedServer(interviewer) as server:
        await in_inspect(harnesses, server, tmp_path, "--no-score", tasks=2)
    (log,) = (tmp_path / "logs").iterdir()
    inspect = harnesses / "inspect" / "bin" / "inspect"
    await command(
        inspect, "score", log, "--scorer=colbench/hidden_tests", "--overwrite", "--display=none"
    )
    scored = rollouts_of_inspect(await command(inspect, "log", "dump", log))
    assert len(scored) == 2
    assert all(rollout.scores for rollout in scored.values())


async def test_a_model_that_is_gone_is_nobodys_zero(harnesses: Path, tmp_path: Path):
    refused = Fault(status=400, body='{"error": {"message": "no such thing"}}')
    async with ScriptedServer(interviewer, fault=lambda _: refused) as server:
        assert await in_inspect(harnesses, server, tmp_path, tasks=2) == {}
        assert await in_verifiers(harnesses, server, tmp_path, tasks=2) == {}
    log = json.loads((tmp_path / "log.json").read_text())
    assert log["status"] == "error"
    assert log["samples"]
    assert all("no such thing" in sample["error"]["message"] for sample in log["samples"])


async def test_a_dialogue_that_a_limit_of_inspect_ends_is_the_agents_failure(
    harnesses: Path, tmp_path: Path
):
    async with ScriptedServer(interviewer) as server:
        rollouts = await in_inspect(harnesses, server, tmp_path, "--turn-limit=2", tasks=2)
    assert len(rollouts) == 2
    for rollout in rollouts.values():
        assert rollout.failure
        assert rollout.failure.reason == "a limit of Inspect ended the dialogue"
        assert rollout.scores["default"].value == 0.0


@pytest.mark.parametrize(
    ("setting", "blame"),
    [
        ("human=nobody", "--human nobody: unknown"),
        ("max_turns=0", "max_turns: expected a whole number >= 1"),
        ("agent=blank", "agent: the harness that runs ColBench decides this"),
    ],
)
async def test_a_setting_that_is_wrong_is_named(harnesses: Path, setting: str, blame: str):
    inspect = harnesses / "inspect" / "bin" / "inspect"
    with pytest.raises(AssertionError) as refusal:
        await command(inspect, "eval", "colbench/backend", "--model=mockllm/model", "-T", setting)
    assert blame in str(refusal.value)
    assert "Traceback" not in str(refusal.value)


async def test_the_examples_of_the_documentation_run_as_written(harnesses: Path, tmp_path: Path):
    text = DOCUMENT.read_text("utf-8")
    inspect, verifiers = text.split("\n## ")[1:]
    async with ScriptedServer(interviewer, model="my-model") as server:
        for name, part in (("inspect", inspect), ("verifiers", verifiers)):
            at = harnesses / name / "bin"
            for language, example in re.findall(r"^```(\w+)\n(.*?)^```$", part, re.S | re.M):
                program = {"bash": "/bin/bash", "python": at / "python"}[language]
                script = example.replace("http://localhost:8000/v1", server.base_url)
                path = f"{at}{os.pathsep}{os.environ['PATH']}"
                await command(program, "-c", script, cwd=tmp_path, env={"PATH": path})
    assert len(read_rollouts(tmp_path / "rollouts.jsonl")) == 6
    assert len(lines_of_verifiers(tmp_path / "outputs")) == 3


async def natively(_: Path, server: ScriptedServer, folder: Path) -> dict[str, Rollout]:
    agent = f"openai:{server.model}@{server.base_url}"
    where = ("--limit", TASKS, "--max-turns", TURNS, "--out", folder / "run")
    colbench = Path(sys.executable).with_name("colbench")
    await command(colbench, "eval", "--agent", agent, "--agent-arg", "seed=false", *where)
    return {r.task_id: r for r in read_rollouts(folder / "run" / "rollouts.jsonl")}


async def in_inspect(
    harnesses: Path, server: ScriptedServer, folder: Path, *more: str, tasks: int = TASKS
) -> dict[str, Rollout]:
    inspect = harnesses / "inspect" / "bin" / "inspect"
    model = (f"--model=openai-api/local/{server.model}", f"--model-base-url={server.base_url}")
    where = (f"--limit={tasks}", "-T", f"max_turns={TURNS}", "--log-dir", folder / "logs")
    await command(inspect, "eval", "colbench/backend", *model, *where, "--display=plain", *more)
    (log,) = (folder / "logs").iterdir()
    dumped = await command(inspect, "log", "dump", log)
    (folder / "log.json").write_text(dumped)
    return rollouts_of_inspect(dumped)


def rollouts_of_inspect(log: str) -> dict[str, Rollout]:
    scores = [sample.get("scores") or {} for sample in json.loads(log)["samples"]]
    kept = [score["hidden_tests"]["metadata"]["colbench_rollout"] for score in scores if score]
    return {rollout.task_id: rollout for rollout in msgspec.convert(kept, list[Rollout])}


async def in_verifiers(
    harnesses: Path, server: ScriptedServer, folder: Path, tasks: int = TASKS
) -> dict[str, Rollout]:
    vf_eval = harnesses / "verifiers" / "bin" / "vf-eval"
    await command(
        *(vf_eval, "colbench-verifiers", "-m", server.model),
        *("--client.base-url", server.base_url, "--client.api-key-var", "LOCAL_API_KEY"),
        *("-n", tasks, "--env.taskset.max-turns", TURNS),
        *("--no-push", "--no-rich", "-o", folder, "--run.name", "verifiers"),
    )
    found = {}
    lines = lines_of_verifiers(folder)
    for trace in (trace for line in lines for trace in json.loads(line)["traces"] if trace["ok"]):
        rollout = msgspec.convert(trace["info"]["rollout"], Rollout)
        found[rollout.task_id] = rollout
        verdict = rollout.scores["default"]
        assert trace["rewards"] == {
            "success": {"score": float(bool(verdict.success)), "weight": 1.0}
        }
        assert trace["metrics"] == {"tests_passed": verdict.value}
    return found


def lines_of_verifiers(folder: Path) -> list[str]:
    """The episodes of the one run in a folder."""
    (traces,) = folder.glob("*/traces.jsonl")
    return traces.read_text().splitlines()


async def command(*words: Any, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """What a command prints, which must end well."""
    process = await asyncio.create_subprocess_exec(
        *map(str, words),
        cwd=cwd,
        env={**os.environ, "LOCAL_API_KEY": "none", "COLUMNS": "1000", **(env or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complained = await process.communicate()
    assert process.returncode == 0, f"{said.decode()}\n{complained.decode()}"
    return said.decode()
