"""Honest but unusual programs: the same verdict on every tier, as root and as an ordinary user."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from marking import mostly
from sandbox_tiers import WORKING

from colbench.sandbox import CodeSandbox, Job, Limits

FILE = Path(__file__).with_name("honest_programs.txt")
HEADING = re.compile(r"^#### (\w+): (.+)\n", re.MULTILINE)
PATIENT = Limits(cpu_seconds=4.0, wall_seconds=60.0)
"""Limits that no program here exceeds, even on a loaded machine."""
SCRIPT = """
    import asyncio, json, sys
    from colbench.sandbox import CodeSandbox, Job, Limits
    async def main(tier, programs):
        async with CodeSandbox(1, True, tier, limits=Limits(cpu_seconds=4.0, wall_seconds=60.0)) as box:
            jobs = [Job(source=source, calls=tuple(calls)) for source, calls in programs]
            told = [result.calls["module"] for result in await box.run(jobs)]
        print(json.dumps([[(c.status, c.value.decode(), c.message) for c in calls] for calls in told]))
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
"""


class Program(NamedTuple):
    """A program with its calls and the expected outcome of each call."""

    kind: str
    name: str
    source: str
    expected: dict[str, str]

    @property
    def calls(self):
        """Return the calls, each inside `repr`, so the outcome does not depend on how values are sent."""
        return [f"repr({call})" for call in self.expected]


def programs():
    _words, *parts = HEADING.split(FILE.read_text("utf-8"))
    for kind, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        source, _, calls = text.partition("\n----\n")
        pairs = (line.split(" => ", 1) for line in calls.strip().splitlines())
        yield Program(kind, name, source + "\n", dict(pairs))


PROGRAMS = list(programs())


def programs_for(tier):
    """Return the programs whose outcome on a tier is as expected. T2, which does not isolate, refuses less."""
    refused = ("processes", "network", "disk")
    return [each for each in PROGRAMS if tier != "T2" or each.kind not in refused]


def differing(chosen, told):
    """Return the expected and the actual outcome where they differ, by program and call."""
    return {
        (program.name, call): (wanted, outcome(*result))
        for program, results in zip(chosen, told, strict=True)
        for (call, wanted), result in zip(program.expected.items(), results, strict=True)
        if outcome(*result) != wanted
    }


def outcome(status, value, message):
    return json.loads(value) if status == "value" else f"raises {message.partition(':')[0]}"


def test_the_corpus_is_large_and_its_names_are_unique():
    assert len({(each.kind, each.name) for each in PROGRAMS}) == len(PROGRAMS) >= 60
    assert all(each.expected for each in PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize("tier", mostly(pytest.mark.weekly, WORKING, *WORKING[:1]))
async def test_unusual_programs_have_the_expected_outcome_on_every_tier(tier):
    chosen = programs_for(tier)
    async with CodeSandbox(1, True, tier, limits=PATIENT) as box:
        results = await box.run([Job(source=p.source, calls=tuple(p.calls)) for p in chosen])
    told = [
        [(c.status, c.value.decode(), c.message) for c in result.calls["module"]]
        for result in results
    ]
    assert differing(chosen, told) == {}


@pytest.mark.weekly
@pytest.mark.parametrize("tier", WORKING)
def test_unusual_programs_have_the_expected_outcome_for_an_ordinary_user(as_nobody, tier):
    chosen = programs_for(tier)
    work = json.dumps([(program.source, program.calls) for program in chosen])
    done = as_nobody(SCRIPT, tier, work)
    assert done.returncode == 0, done.stderr
    assert differing(chosen, json.loads(done.stdout)) == {}
