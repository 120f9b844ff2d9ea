"""Fault drills: how a run ends if a model server has a fault, for each fault of the catalog and both roles.

The model asks one question and then gives the right answer, so only a fault can cause a score other than 1.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import pytest
from marking import mostly

import colbench
from colbench.errors import UserError
from colbench.messages import ANSWER_MARKER, Message
from colbench.models.families import DOUBLES
from colbench.models.fault_server import FaultServer, read_model, talk
from colbench.models.faults import CATALOG, THOUGHT
from colbench.rollout import Rollout, read_rollouts

TASKS = colbench.load_tasks("bundled:backend", limit=12)
ALL = CATALOG | DOUBLES
SHOWN_THOUGHTS = {"think", "reasoning", "reasoning-content", "parts", "qwen3", "r1", "r1-api"}
PASSING = [name for name, known in ALL.items() if known.passes]
QUICK = (
    "hang",
    "http-429",
    "retry-after",
    "http-500",
    "cut-in-middle",
    "truncated",
    "html",
    "think",
)
LANES = 6


def expert(messages: Sequence[Message]) -> str:
    """Reply like the packaged fault server, but with the right answer."""
    said = talk(messages)
    if not said.startswith(ANSWER_MARKER):
        return said
    heard = {message.content for message in messages}
    (task,) = (task for task in TASKS if task.request in heard)
    return f"{ANSWER_MARKER}\n{task.hidden.reference}"


def participants(server: FaultServer, agent: str, human: str, **arguments: object) -> dict:
    """Return settings in which both roles are models of the server, each with a different client."""
    return {
        "agent": f"openai:{agent}@{server.base_url}",
        "human": f"openai:{human}@{server.base_url}",
        "agent_args": {"client": "openai", **arguments},
        "human_args": {"client": "aiohttp", **arguments},
        "sandbox_workers": 1,
    }


def assert_right(rollout: Rollout) -> None:
    """Assert that the dialogue ended with an answer that was scored as right."""
    assert rollout.failure is None, rollout.failure
    assert rollout.ended_by == "answer"
    assert rollout.scores["default"].success is True


def assert_thoughts_kept(server: FaultServer, rollouts: Sequence[Rollout], role: str = "") -> None:
    """Assert that no role was shown a thought, and that the thoughts of the given role, if any, are stored."""
    assert THOUGHT not in json.dumps([body["messages"] for body in server.requests])
    for rollout in rollouts:
        for turn in rollout.turns:
            assert THOUGHT not in turn.said + (turn.human or "")
            if role == "agent":
                assert THOUGHT in turn.thoughts
            if role == "human" and turn.human:
                assert THOUGHT in turn.human_thoughts


class Drill(NamedTuple):
    """The results of two dialogues in which one role's server has a fault."""

    server: FaultServer
    rollouts: Sequence[Rollout]
    mistake: UserError | None = None


@pytest.fixture(scope="module")
def drills() -> dict[tuple[str, str], Drill]:
    """Return the drill of each fault in each role. Most of their time is waiting, so several run at once."""
    return asyncio.run(run_drills())


async def run_drills() -> dict[tuple[str, str], Drill]:
    waiting, done = product(ALL, ("agent", "human")), {}

    async def lane() -> None:
        for name, role in waiting:
            done[name, role] = await drill(name, role)

    await asyncio.gather(*(lane() for _ in range(LANES)))
    return done


async def drill(name: str, role: str) -> Drill:
    names = {"agent": "ok", "human": "ok", role: name}
    timeout = 1.0 if ALL[name].outcome == "timeout" else 10.0
    async with FaultServer(expert) as server:
        settings = participants(server, **names, retries=1, timeout=timeout)
        settings |= {"endpoint_patience": 0.5}
        try:
            run = await colbench.evaluate_async(tasks=TASKS[:2], **settings)
        except UserError as mistake:
            return Drill(server, (), mistake)
        return Drill(server, run.rollouts)


@pytest.mark.parametrize("role", ["agent", "human"])
@pytest.mark.parametrize("name", ALL)
def test_a_fault_in_every_request_has_the_outcome_in_the_catalog(drills, name, role):
    known = ALL[name]
    outcome = (role == "human" and known.human_outcome) or known.outcome
    server, rollouts, mistake = drills[name, role]
    assert (outcome == "mistake") is (mistake is not None), mistake
    if mistake:
        assert "chat/completions" in str(mistake)
        return
    assert_thoughts_kept(server, rollouts, role if name in SHOWN_THOUGHTS else "")
    assert len(rollouts) == 2
    for rollout in rollouts:
        if outcome == "scored" and (name, role) != ("refusal", "agent"):
            assert_right(rollout)
        elif outcome == "scored":
            assert rollout.failure is None
            assert all(turn.agent_delivery.refused for turn in rollout.turns)
        elif outcome == "own":
            assert (rollout.failure.boundary, rollout.failure.kind) == ("agent", "context")
        else:
            assert rollout.failure.kind == outcome
            assert rollout.failure.boundary in {"endpoint", "simulator"}
            assert not rollout.scores


@pytest.mark.parametrize("name", mostly(pytest.mark.weekly, PASSING, *QUICK))
async def test_a_fault_of_every_third_request_costs_no_dialogue(name):
    async with FaultServer(expert) as server:
        settings = participants(server, f"{name}/3", f"{name}/3", timeout=1.0)
        run = await colbench.evaluate_async(tasks=TASKS[:4], concurrency=2, **settings)
        assert_thoughts_kept(server, run.rollouts)
    assert len(run.rollouts) == 4
    for rollout in run.rollouts:
        assert_right(rollout)


@pytest.mark.parametrize(
    "combination",
    [
        "http-429/3+truncated/5+cut-in-middle/7",
        pytest.param("qwen3+html/2", marks=pytest.mark.weekly),
    ],
)
async def test_combined_faults_cost_no_dialogue(combination):
    async with FaultServer(expert) as server:
        settings = participants(server, combination, combination)
        run = await colbench.evaluate_async(tasks=TASKS, **settings)
    assert len(run.rollouts) == len(TASKS)
    for rollout in run.rollouts:
        assert_right(rollout)


@pytest.mark.parametrize("seconds", [8, pytest.param(60, marks=pytest.mark.weekly)])
async def test_a_run_survives_the_restart_of_its_server(seconds):
    begun = asyncio.Event()

    def script(messages: Sequence[Message]) -> str:
        if len(server.requests) >= 6:
            begun.set()
        return expert(messages)

    async with FaultServer(script) as server:
        settings = participants(server, "queue", "queue")
        running = asyncio.create_task(colbench.evaluate_async(tasks=TASKS, **settings))
        await asyncio.wait_for(begun.wait(), 30)
        await server.restart(seconds)
        run = await running
    assert len(run.rollouts) == len(TASKS)
    for rollout in run.rollouts:
        assert_right(rollout)
    assert max(turn.agent_delivery.waited for r in run.rollouts for turn in r.turns) >= seconds / 2


async def test_dialogues_finished_before_a_user_error_are_kept(tmp_path):
    async with FaultServer(expert) as server:
        settings = participants(server, "no-quota/9", "ok")
        settings |= {"tasks": TASKS[:6], "concurrency": 1, "out": tmp_path / "run"}
        with pytest.raises(UserError, match="no quota left"):
            await colbench.evaluate_async(**settings)
        finished = read_rollouts(tmp_path / "run" / "rollouts.jsonl")
        assert len(finished) == 4
        run = await colbench.evaluate_async(**settings)
    assert {rollout.key for rollout in finished} < {rollout.key for rollout in run.rollouts}
    for rollout in run.rollouts:
        assert_right(rollout)


@pytest.mark.parametrize("client", ["openai", "aiohttp"])
async def test_a_server_without_a_model_list_works(client):
    async with FaultServer(expert) as server:
        url = server.base_url.replace("/v1", "/no-models/v1")
        settings = {"agent": f"openai:ok@{url}", "agent_args": {"client": client}}
        run = await colbench.evaluate_async(tasks=TASKS[:1], sandbox_workers=1, **settings)
    assert_right(run.rollouts[0])


@pytest.mark.slow
async def test_an_unknown_fault_is_named_by_the_server():
    async with FaultServer() as server:
        for spec, words in [
            ("tink", "has no model `tink`; it has: ok, hang, drip"),
            ("tink/2", "unknown fault `tink`; did you mean think?"),
            ("ok/2", "`ok` cannot be combined with faults or a number"),
            ("html/0", "`html/0`: expected a whole number above 0 after /, as in html/3"),
        ]:
            with pytest.raises(UserError, match=words):
                await colbench.evaluate_async(
                    agent=f"openai:{spec}@{server.base_url}", tasks=TASKS[:1], sandbox_workers=1
                )


def test_the_rarest_of_combined_faults_comes_first():
    assert [part.every for part in read_model("slow+http-429/3+html/5")] == [5, 3, 1]


async def test_the_packaged_fault_server_plays_dialogues_that_can_be_scored():
    async with FaultServer() as server:
        listed = json.loads(await asyncio.to_thread(fetch, f"{server.base_url}/models"))
        assert {"ok", *CATALOG, *DOUBLES} <= {each["id"] for each in listed["data"]}
        run = await colbench.evaluate_async(
            tasks=TASKS[:1], **participants(server, "ok", "o-series")
        )
    (rollout,) = run.rollouts
    assert (rollout.failure, rollout.ended_by, len(rollout.turns)) == (None, "answer", 2)
    assert rollout.scores["default"].value == 0.0
    assert rollout.answer == "def screen_price(message, runs):\n    return None"
    assert {check.outcome for check in rollout.scores["default"].checks} == {"wrong"}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("Add. The signature of the function is: def add(a, b=(1, 2))", "def add(a, b=(1, 2))"),
        ("Add two numbers.", "def answer(*args, **kwargs)"),
    ],
)
def test_the_packaged_model_answers_with_the_requested_signature(request_, code):
    said = [("user", request_), ("assistant", "When?"), ("user", "Def later (or never).")]
    answer = talk([Message(role=role, content=content) for role, content in said])
    assert answer == f"{ANSWER_MARKER}\n{code}:\n    return None"


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        return answer.read()
