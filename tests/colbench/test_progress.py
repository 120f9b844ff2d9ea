"""The progress of a run, as it is printed if standard error is not a terminal."""

from __future__ import annotations

import asyncio
import re

import pytest

from colbench import evaluate_async
from colbench.errors import UserError
from colbench.evaluation import Observer
from colbench.event_loop import every
from colbench.messages import ANSWER_MARKER
from colbench.models.fault_server import FaultServer
from colbench.models.scripted_server import ScriptedServer
from colbench.progress import ConsoleObserver, show_line

FEW = {"tasks": "bundled:backend", "limit": 3, "concurrency": 3}


async def lines(model: str, capsys, **arguments: object) -> list[str]:
    """Run some dialogues with a model of the fault server, and return the progress lines."""
    async with FaultServer() as server:
        agent = f"openai:{model}@{server.base_url}"
        await evaluate_async(
            agent=agent, observer=ConsoleObserver(), agent_args={"retries": 1}, **FEW, **arguments
        )
    return capsys.readouterr().err.splitlines()


class Slow:
    """An agent that asks several questions and waits before each reply."""

    spec = "slow"

    def __init__(self, questions: int, seconds: float) -> None:
        self.questions = questions
        self.seconds = seconds

    async def reply(self, dialogue):
        await asyncio.sleep(self.seconds)
        return "What else?" if len(dialogue) < 2 * self.questions else f"{ANSWER_MARKER}\npass"


class Counts(Observer):
    """An observer that records the numbers of replies before the first dialogue is finished."""

    def __init__(self) -> None:
        self.totals: list[int] = []
        self.over = False

    def on_replies(self, total: int) -> None:
        if not self.over:
            self.totals.append(total)

    def on_rollout(self, rollout) -> None:
        self.over = True


async def test_replies_are_counted_before_a_dialogue_is_finished():
    observer = Counts()
    await evaluate_async(agent=Slow(3, 0.8), observer=observer, **FEW)
    assert {3, 6} & set(observer.totals)


class Fails(Observer):
    """An observer that cannot show the number of replies."""

    def on_replies(self, total: int) -> None:
        raise ValueError("the screen is gone")


async def test_an_observer_error_during_a_dialogue_stops_the_run():
    with pytest.raises(ValueError, match="the screen is gone"):
        await evaluate_async(agent=Slow(3, 0.8), observer=Fails(), **FEW)


async def test_an_error_raised_during_periodic_calls_keeps_its_cause():
    with pytest.raises(UserError) as raised:
        async with every(1, Counts):
            raise UserError("wrong") from ValueError("why")
    assert repr(raised.value.__cause__) == "ValueError('why')"


@pytest.mark.slow
async def test_replies_in_other_processes_are_counted_before_a_dialogue_is_finished():
    observer = Counts()
    async with ScriptedServer(lambda _: "What else?", delay=0.8) as server:
        agent = f"openai:scripted@{server.base_url}"
        await evaluate_async(
            agent=agent,
            observer=observer,
            processes=2,
            max_turns=6,
            tasks="bundled:backend",
            limit=4,
        )
    assert observer.totals == sorted(observer.totals)
    assert 4 < observer.totals[-1] <= 24


@pytest.mark.slow
async def test_progress_lines_are_printed_before_a_dialogue_is_finished(capsys):
    await evaluate_async(agent=Slow(9, 1.3), observer=ConsoleObserver(), **FEW)
    printed = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"0/3 · 2[14] replies", printed[0])
    assert printed[-1].startswith("3/3 · ")
    assert "replies" not in printed[-1]


@pytest.mark.slow
async def test_rate_limit_waits_and_unscored_dialogues_are_reported_as_they_happen(capsys):
    printed = await lines("http-429", capsys, endpoint_patience=4)
    waits = [n for n, line in enumerate(printed) if line.startswith("waiting: http")]
    lost = [n for n, line in enumerate(printed) if line.startswith("unscored: ")]
    assert re.search(r": [123] requests? waiting for \d+ s: ", printed[waits[0]])
    assert "HTTP 429" in printed[waits[0]]
    assert waits[0] < lost[0]
    assert any(line.startswith("1/3 · ") for line in printed[: lost[0]])
    assert printed[lost[0]].startswith("unscored: 1 dialogue, last: ")
    assert "endpoint: " in printed[lost[0]]
    assert printed[lost[-1]].startswith("unscored: 3 dialogues, last: ")


async def test_a_run_without_faults_reports_no_waits_or_unscored_dialogues(capsys):
    printed = await lines("ok", capsys)
    assert printed[-1].startswith("3/3 · 0:00:00 left · tests passed ")
    assert not any("waiting" in line or "unscored" in line for line in printed)


def test_a_line_about_a_run_keeps_brackets(capsys):
    show_line("run", "runs/[dim]one")
    assert capsys.readouterr().out == "run     runs/[dim]one\n"
