"""Fixtures of the harness's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
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
    """Run a script with its arguments in this interpreter, as the user who runs the tests."""
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


@contextmanager
def start(*flags, ready, patience=60):
    """Start `colbench eval` in the current folder, and wait until `ready()`; it is killed at the end."""
    command = [sys.executable, "-m", "colbench.cli", "eval", "--in-process", "--out", "out"]
    with subprocess.Popen(
        [*command, "--limit", "6", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            end = time.monotonic() + patience
            while not ready():
                assert time.monotonic() < end
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def is_alive(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def left_of(processes, seconds):
    end = time.monotonic() + seconds
    while (left := {each for each in processes if is_alive(each)}) and time.monotonic() < end:
        time.sleep(0.05)
    return left


@pytest.fixture(scope="session")
def start_run():
    """Return a context manager that starts `colbench eval` with flags and waits until its `ready()` is true."""
    return start


@pytest.fixture(scope="session")
def processes_left():
    """Return a function that waits for the end of processes and returns the ids of those that remain."""
    return left_of
