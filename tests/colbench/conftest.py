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
    """Return a function that runs a script with its arguments in this interpreter, as the current user."""
    return lambda script, *arguments: run(sys.executable, script, *arguments)


@pytest.fixture(scope="session")
def as_nobody():
    """Return a function that runs a script with its arguments as an ordinary user, in a readable interpreter."""
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
    pytest.skip("no Python interpreter is readable by an ordinary user")


@contextmanager
def start(*flags, ready, patience=60):
    """Start `colbench eval` in the current folder and wait until `ready()` is true; kill the process at the end."""
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


def remaining(processes, seconds):
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
    """Return a function that waits for processes to end and returns the ids of those that remain."""
    return remaining
