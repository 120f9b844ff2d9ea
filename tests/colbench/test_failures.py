"""Dialogues that are retried by the reason of their failure, and agents whose own code always fails."""

from __future__ import annotations

import pytest

import colbench
from colbench.cli import main
from colbench.errors import AgentError, EndpointError, UserError
from colbench.failures import broken_agent, matches, read_reasons
from colbench.messages import Delivery, Message
from colbench.rollout import Failure, Rollout, Turn

ANSWER = "I WANT TO ANSWER: def f(): return 1"


def rollout(failure=None, *turns):
    return Rollout(
        key="k",
        task_id="t",
        task_hash="h",
        domain="backend",
        trial=0,
        seed=1,
        request="please",
        turns=turns,
        answer=None if failure else "x",
        ended_by="failure" if failure else "answer",
        failure=failure,
    )


def failure(boundary, reason="why", kind=""):
    return Failure(boundary=boundary, reason=reason, kind=kind)


@pytest.mark.parametrize(
    ("failed", "matching"),
    [
        (failure("agent", kind="timeout"), {"agent", "timeout", "agent:timeout"}),
        (failure("endpoint", kind="overload"), {"endpoint", "overload", "endpoint:overload"}),
        (failure("agent", "no answer in time"), {"agent", "timeout", "agent:timeout"}),
        (failure("simulator", "no answer in time"), {"simulator", "timeout"}),
        (failure("agent", "ValueError: boom"), {"agent", "exception", "agent:exception"}),
        (
            failure("agent", "reply() returned int; it must return a Message with text, or a str"),
            {"agent", "reply"},
        ),
        (None, set()),
    ],
)
def test_a_dialogue_matches_its_failures_boundary_and_kind_also_in_old_files(failed, matching):
    every = {"agent", "endpoint", "simulator", "timeout", "exception", "overload", "reply"}
    every |= {"agent:timeout", "agent:exception", "endpoint:overload"}
    assert {each for each in every if matches(rollout(failed), [each])} == matching


def turn(raw="words", **delivery):
    return Turn(raw=raw, said=raw, agent_delivery=Delivery(**delivery) if delivery else None)


@pytest.mark.parametrize(
    ("came", "reason"),
    [
        (turn(""), "empty"),
        (turn("<think>hm</think>  "), "empty"),
        (turn("<think>and then", finish_reason="length"), "empty"),
        (turn("half a", finish_reason="length"), "cut"),
        (turn("half a", finish_reason="content_filter"), "filtered"),
        (turn("no", refused=True), "refused"),
    ],
)
def test_a_dialogue_matches_the_delivery_of_any_agent_reply(came, reason):
    sound = turn(finish_reason="stop")
    assert matches(rollout(None, sound, came), [reason])
    assert not matches(rollout(None, sound), [reason])


def test_an_unknown_reason_is_refused_with_the_known_ones():
    assert read_reasons("timeout, agent:exception,empty") == (
        "timeout",
        "agent:exception",
        "empty",
    )
    with pytest.raises(
        UserError, match=r"did you mean `timeout`\?.* \(agent, endpoint, .* refused\)"
    ):
        read_reasons("timeuot")
    for wrong in ("timeout:agent", "agent:cut", "a:b:c"):
        with pytest.raises(UserError, match="unknown reason"):
            read_reasons(wrong)


@pytest.mark.parametrize("kind", ["reply", "malformed"])
def test_an_agent_that_never_returns_a_message_is_broken(kind):
    silent = rollout(failure("agent", "reply() returned NoneType; it must return", kind))
    said = broken_agent([silent, silent])
    assert "(2) failed in the agent's own code, for example: reply() returned NoneType" in said
    assert "add --retry-failed agent" in said
    assert broken_agent([silent, rollout()]) == ""


def test_an_agent_is_broken_only_if_it_fails_in_every_dialogue_that_counts():
    raised = rollout(failure("agent", "ValueError: boom (a.py:3)", "exception"))
    late = rollout(failure("agent", "no answer in time", "timeout"))
    lost = rollout(failure("endpoint", "gone", "connection"))
    said = "so far (2) failed in the agent's own code, for example: ValueError: boom (a.py:3); fix"
    assert said in broken_agent([raised, lost, raised])
    said = "so far (2) failed because of the agent, for example: no answer in time; fix the agent"
    assert said in broken_agent([raised, lost, late])
    for others in ([], [lost], [raised, rollout()], [late, rollout()]):
        assert broken_agent(others) == ""


class Flaky:
    """An agent object that fails at the given replies; the failures can differ between two runs."""

    spec = "flaky"

    def __init__(self, **failing):
        self.failing = failing
        self.replies = 0

    async def reply(self, dialogue):
        self.replies += 1
        if self.replies in self.failing.get("raises", ()):
            raise ValueError("boom")
        if self.replies in self.failing.get("lost", ()):
            raise EndpointError("gone", kind="connection")
        if self.replies in self.failing.get("empty", ()):
            return Message(role="assistant", content="")
        return ANSWER


def evaluate(agent, out, **settings):
    return colbench.evaluate(
        agent=agent, tasks="bundled:backend", out=out, limit=6, concurrency=1, **settings
    )


def test_only_matching_dialogues_are_rerun_and_earlier_lines_are_kept(tmp_path):
    out = tmp_path / "run"
    first = evaluate(Flaky(raises={2}, empty={4}), out, max_turns=1)
    assert sum(rollout.failure is not None for rollout in first.rollouts) == 1
    again = Flaky()
    second = evaluate(again, out, max_turns=1, retry_failed="agent:exception")
    assert again.replies == 1
    assert all(rollout.failure is None for rollout in second.rollouts)
    third = Flaky()
    evaluate(third, out, max_turns=1, retry_failed=["empty", "timeout"])
    assert third.replies == 1
    assert (out / "rollouts.jsonl").read_bytes().count(b"\n") == 8


def test_an_agent_that_always_raises_stops_evaluate(tmp_path):
    agent = Flaky(raises=range(100))
    with pytest.raises(AgentError, match=r"\(10\) failed in the agent's own code, .*: ValueError"):
        colbench.evaluate(agent=agent, tasks="bundled:backend", limit=30, concurrency=1)
    assert agent.replies < 13


def test_one_dialogue_without_failure_is_enough_to_continue_the_run(tmp_path):
    agent = Flaky(raises=set(range(100)) - {3})
    run = colbench.evaluate(agent=agent, tasks="bundled:backend", limit=20, concurrency=1)
    assert sum(rollout.failure is not None for rollout in run.rollouts) == 19


def test_the_command_line_refuses_an_unknown_reason(capsys):
    assert main(["eval", "--agent", "blank", "--limit", "1", "--retry-failed", "emty"]) == 2
    assert "--retry-failed emty: unknown reason" in capsys.readouterr().err
