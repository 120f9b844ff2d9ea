from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from colbench.cells import plan
from colbench.errors import AgentError, EndpointError, InfrastructureError, UserError
from colbench.hosted.sessions import HostedSession, measures, session_for
from colbench.messages import ANSWER_MARKER, Message
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Task

FEW = {"limit": 2, "sandbox_workers": 1}


class AnswersReference:
    """An agent that answers with the reference, which the test gives it."""

    def __init__(self, task: Task) -> None:
        self.task = task

    async def reply(self, dialogue: Sequence[Message]) -> str:
        if len(dialogue) == 1:
            return "Anything else?"
        return f"{ANSWER_MARKER}\n{self.task.hidden.reference}"


class Fails:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def reply(self, dialogue: Sequence[Message]) -> str:
        raise self.error


async def scored(session: HostedSession, agent: object) -> Rollout:
    await session.start()
    task = next(iter(session.tasks))
    return await session.score(await session.run_dialogue(task, 0, agent))


async def test_a_dialogue_is_run_and_scored():
    session = HostedSession(FEW)
    task = next(iter(session.tasks.values()))
    rollout = await scored(session, AnswersReference(task))
    assert (rollout.ended_by, len(rollout.turns)) == ("answer", 2)
    assert rollout.turns[0].human
    assert measures(session.verdict(rollout), "backend") == {"success": 1.0, "tests_passed": 1.0}


async def test_a_hosted_dialogue_has_the_same_seed_as_in_a_colbench_run():
    session = HostedSession({**FEW, "seed": 7})
    native = {
        (cell.task.id, cell.trial): cell.seed for cell in plan([*session.tasks.values()], 3, "", 7)
    }
    rollouts = [session.unfinished(task, trial, "") for task, trial in native]
    assert {(r.task_id, r.trial): r.seed for r in rollouts} == native
    assert len({rollout.key for rollout in rollouts}) == 6


async def test_an_agent_failure_scores_0_and_a_server_failure_raises():
    session = HostedSession(FEW)
    rollout = await scored(session, Fails(AgentError("I cannot")))
    assert measures(session.verdict(rollout), "backend") == {"success": 0.0, "tests_passed": 0.0}
    with pytest.raises(InfrastructureError, match="endpoint: it is gone"):
        await scored(session, Fails(EndpointError("it is gone")))


async def test_a_dialogue_that_was_cut_short_scores_0():
    session = HostedSession(FEW)
    await session.start()
    cut = session.unfinished(next(iter(session.tasks)), 0, "a limit")
    rollout = await session.score(cut)
    assert session.verdict(rollout).note == "the agent failed: a limit"
    assert session.verdict(rollout).value == 0.0


async def test_concurrent_calls_start_a_session_once():
    session, before = HostedSession(FEW), set(_workers())
    await asyncio.gather(*(session.start() for _ in range(5)))
    assert len(set(_workers()) - before) == 1


def test_a_session_stops_with_its_event_loop_and_starts_again_in_another():
    session, before = HostedSession(FEW), set(_workers())
    task = next(iter(session.tasks.values()))
    for _ in range(2):
        rollout = asyncio.run(scored(session, AnswersReference(task)))
        assert session.verdict(rollout).success
        assert set(_workers()) <= before


def _workers() -> list[str]:
    """Return the IDs of the sandbox's processes: the children of this process, regardless of the starting thread."""
    threads = Path("/proc/self/task").iterdir()
    return [child for each in threads for child in (each / "children").read_text().split()]


async def test_a_start_failure_is_reported_to_every_caller(tmp_path: Path):
    (tmp_path / "late.py").write_text(
        "class Late:\n"
        "    async def respond(self, task, dialogue): ...\n"
        "    async def __aenter__(self): raise OSError('overslept')\n"
        "    async def __aexit__(self, *_): ...\n"
    )
    session = HostedSession({**FEW, "human": f"{tmp_path}/late.py:Late"})
    for _ in range(2):
        with pytest.raises(
            UserError, match="--human: the human could not be started\nOSError: overslept"
        ):
            await session.start()


def test_equal_settings_share_one_session():
    assert session_for(FEW) is session_for(dict(reversed(FEW.items())))
    assert session_for(FEW) is not session_for({**FEW, "limit": 3})


def test_the_prompt_is_the_model_agents_or_comes_from_a_file(tmp_path: Path):
    own = tmp_path / "prompt.txt"
    own.write_text("In {max_turns} turns.")
    usual = get_domain("backend").agent_prompt(single_turn=False, pictures=False)
    assert HostedSession({**FEW, "max_turns": 4}).prompt("backend") == usual.replace(
        "{max_turns}", "4"
    )
    assert (
        HostedSession({**FEW, "max_turns": 4, "agent_prompt": str(own)}).prompt("backend")
        == "In 4 turns."
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"agent": "blank"},
            "agent: applies only to ColBench's own runs; remove it, or use a setting of the harness",
        ),
        (
            {"trials": 2},
            "trials: applies only to ColBench's own runs; remove it, or use a setting of the harness",
        ),
        ({"max_turns": 0}, "max_turns: expected a whole number >= 1"),
        ({"humn": "keyless"}, "humn: unknown setting; did you mean `human`"),
        ({"human": "nobody"}, "--human nobody: unknown"),
    ],
)
def test_an_invalid_setting_is_named(settings: dict[str, object], said: str):
    with pytest.raises(UserError, match=re.escape(said)):
        HostedSession({**FEW, **settings})
