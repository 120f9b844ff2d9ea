"""Fixtures of the harness's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

NOBODY = 65534
TOP = Path(__file__).parents[2]
PLACES = [str(TOP), str(TOP / "leaderboard"), str(Path(msgspec.__file__).parents[1])]


def run(python, script, *arguments, user=None):
    return subprocess.run(
        [python, "-c", textwrap.dedent(script), *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(PLACES)},
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def as_self():
    """Run a script with its arguments in this interpreter, as whoever runs the tests."""
    return lambda script, *arguments: run(sys.executable, script, *arguments)


@pytest.fixture(scope="session")
def as_nobody():
    """Run a script with its arguments as an ordinary user, in an interpreter that such a user can read."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        try:
            done = run(python, "import colbench.sandbox", user=NOBODY)
        except OSError:
            continue
        if done.returncode == 0:
            return lambda script, *arguments: run(python, script, *arguments, user=NOBODY)
    pytest.skip("no interpreter that an ordinary user can read")
