"""The progress of a run, as it is printed where standard error is not a terminal."""

from __future__ import annotations

import pytest

from colbench import evaluate_async
from colbench.models.fault_server import FaultServer
from colbench.progress import ConsoleObserver

FEW = {"tasks": "bundled:backend", "limit": 3, "concurrency": 3}


async def lines(model: str, capsys, **arguments: object) -> list[str]:
    """Run some dialogues with a model of the server that has faults, and return the lines of the progress."""
    async with FaultServer() as server:
        agent = f"openai:{model}@{server.base_url}"
        await evaluate_async(
            agent=agent, observer=ConsoleObserver(), agent_args={"retries": 1}, **FEW, **arguments
        )
    return capsys.readouterr().err.splitlines()


@pytest.mark.slow
async def test_a_rate_limit_is_told_while_it_is_waited_for_and_what_it_cost_as_it_happens(capsys):
    printed = await lines("http-429", capsys, endpoint_patience=4)
    waits = [n for n, line in enumerate(printed) if line.startswith("waiting: http")]
    lost = [n for n, line in enumerate(printed) if line.startswith("unscored: ")]
    assert "3 requests waiting for" in printed[waits[0]]
    assert "HTTP 429" in printed[waits[0]]
    assert waits[0] < lost[0]
    assert any(line.startswith("1/3 · ") for line in printed[: lost[0]])
    assert printed[lost[0]].startswith("unscored: 1 dialogue, last: ")
    assert "endpoint: " in printed[lost[0]]
    assert printed[lost[-1]].startswith("unscored: 3 dialogues, last: ")


async def test_what_goes_well_is_told_without_waits(capsys):
    printed = await lines("ok", capsys)
    assert printed[-1].startswith("3/3 · 0:00:00 left · tests passed ")
    assert not any("waiting" in line or "unscored" in line for line in printed)
