"""Real references give the same results in the sandbox as in plain Python, call by call."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import sandbox_tiers
from marking import mostly

from colbench.sandbox import CodeSandbox, Job
from colbench.task import read_tasks

PLAIN = """
import json, os, random, sys
rows = json.load(sys.stdin)
told, sys.stdout = sys.stdout, open(os.devnull, "w")
results = []
for source, calls in rows:
    said = []
    for call in calls:
        names = {"__name__": "candidate"}
        random.seed(0)
        try:
            exec(source, names)
            said.append(repr(eval(call, names)))
        except Exception as error:
            said.append(type(error).__name__)
    results.append(said)
json.dump(results, told)
"""
WORKING = [tier for tier in sandbox_tiers.WORKING if tier in ("T0", "T0b", "T1")]
WRITES_A_FILE = "get_view_names"
"""A function that opens a missing database: plain Python creates the file, which the sandbox does not allow."""


@pytest.fixture(scope="module")
def rows(official_backend):
    return read_tasks(official_backend, limit=400)


@pytest.fixture(scope="module")
def plain(rows, tmp_path_factory):
    """Return for each row the text of every call's value, or the name of its exception."""
    work = [(row.hidden.reference, row.hidden.tests) for row in rows]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path_factory.mktemp("plain"),
        env={"PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": os.environ["PATH"]},
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("tier", mostly(pytest.mark.weekly, WORKING, *WORKING[:1]))
async def test_every_real_reference_gives_the_same_results_as_in_plain_python(rows, plain, tier):
    """Compare values by their own `repr`, so that the test does not depend on how the sandbox encodes values."""
    jobs = [
        Job(source=row.hidden.reference, calls=tuple(f"repr({c})" for c in row.hidden.tests))
        for row in rows
    ]
    async with CodeSandbox(2, tier=tier, packages=("numpy",)) as box:
        results = await box.run(jobs)
    differing = {
        row.function_name
        for row, result, expected in zip(rows, results, plain, strict=True)
        if [result_text(call) for call in result.calls["module"]] != expected
    }
    assert differing <= {WRITES_A_FILE}


def result_text(call):
    """Return the text that a call returned, or the name of its exception."""
    if call.status == "value":
        return json.loads(call.value)
    return call.message.partition(":")[0]
