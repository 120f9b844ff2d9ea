"""Real runs on 16 tasks: a cheater who leaves a few facts unasked is flagged, and honest agents that guess are not."""

from __future__ import annotations

import json

import pytest

from colbench.cli import main
from colbench.task import row_from_task
from colbench_leaderboard.bundle.draft import draft
from colbench_leaderboard.bundle.pack import pack
from colbench_tasks.families import FAMILIES
from colbench_tasks.generate import generate

CHEAT = "colbench_agents.cheat:Cheat"


@pytest.fixture(scope="module")
def findings_of(tmp_path_factory, submission):
    """Return a function that runs an agent, verifies the run, and returns the flagged rules and the success rate."""
    folder = tmp_path_factory.mktemp("disclosure")
    tasks = [
        task
        for name in ("adverts", "grading")
        for task in generate(FAMILIES[name], 8, "disclosure")
    ]
    source = folder / "tasks.jsonl"
    source.write_text("".join(json.dumps(row_from_task(task)) + "\n" for task in tasks), "utf-8")

    def found(agent: str, *args: str) -> tuple[set[str], float]:
        run = folder / "-".join((agent.rpartition(":")[2], *args)).replace("=", "")
        given = [f"--agent-arg={arg}" for arg in args]
        if agent == CHEAT:
            given.append(f"--agent-arg=tasks={source}")
        places = ("--tasks", str(source), "--out", str(run))
        flags = ("--sandbox-workers", "2")
        assert main(["eval", "--agent", agent, *given, *places, *flags]) == 0
        bundle, out = run / "bundle", run / "verified"
        pack(draft(run, submission("An entry")), bundle)
        assert main(["verify", str(bundle), "--tasks", str(source), "--out", str(out), *flags]) == 0
        receipt = json.loads((out / "receipt.json").read_bytes())
        summary = json.loads((out / "summary.json").read_bytes())
        flagged = {one["rule"] for one in receipt["findings"] if one["severity"] == "flag"}
        return flagged, summary["success"]["mean"]

    return found


@pytest.mark.parametrize("leaves", [1, 2])
def test_a_cheater_who_leaves_a_few_facts_unasked_is_flagged(findings_of, leaves):
    flagged, success = findings_of(CHEAT, f"leaves={leaves}")
    assert success == 1.0
    assert "audit.undisclosed" in flagged


@pytest.mark.parametrize(
    ("agent", "args"),
    [
        ("guesser", ()),
        ("interviewer", ("leaves=2",)),
        ("demonstrator", ()),
    ],
)
def test_an_honest_agent_that_guesses_is_not_flagged(findings_of, agent, args):
    assert findings_of(agent, *args)[0] == set()
