"""Child processes exit with their parent, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time

PARENT = """
import sys
from sweet_rl_trainer.subprocesses import run
sys.exit(run([sys.executable, *sys.argv[1:]]))
"""
CHILD = """
import os, sys, time
from sweet_rl_trainer.subprocesses import exit_with_parent
exit_with_parent()
print(os.getpid(), sys.argv[1:], flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(3)
"""


def start(folder, seconds):
    child = folder / "sleeper.py"
    child.write_text(CHILD)
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(child), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    )


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_command_is_run_with_its_arguments_and_its_exit_code_comes_back(tmp_path):
    with start(tmp_path, 0.1) as parent:
        assert parent.stdout.readline().split(maxsplit=1)[1].strip() == "['0.1']"
        assert parent.wait() == 3


def test_a_child_does_not_outlive_a_parent_that_is_killed(tmp_path):
    with start(tmp_path, 600) as parent:
        pid = int(parent.stdout.readline().split()[0])
        assert alive(pid)
        parent.kill()
        deadline = time.monotonic() + 30
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(pid)
