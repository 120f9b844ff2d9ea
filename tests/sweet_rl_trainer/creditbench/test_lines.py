"""The processes that compute the lines of a file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import os, sys, time
from pathlib import Path
from sweet_rl_trainer.creditbench.lines import in_processes

def make(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    list(in_processes(make, sys.argv[1:] * 2, 2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_processes_end_with_their_parent(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    folder = tmp_path / "started"
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py", folder])
    wait_until(lambda: len(list(folder.iterdir())) == 2)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not any(runs(each.name) for each in folder.iterdir()))


def runs(number):
    try:
        return ") Z " not in Path("/proc", number, "stat").read_text()
    except FileNotFoundError:
        return False


def wait_until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
