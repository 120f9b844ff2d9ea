from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("psutil", reason="psutil is not installed (colbench[train])")

from sweet_rl_trainer.peak import SECONDS, Peak

MIB = 2**20
HOLDING = "import sys; held = b'1' * ({mib} << 20); print(flush=True); sys.stdin.read()"


@contextmanager
def holding(*sizes):
    """Processes that have so many MiB each, until the end."""
    with ExitStack() as stack:
        for mib in sizes:
            command = [sys.executable, "-c", HOLDING.format(mib=mib)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.enter_context(process)
            process.stdout.readline()
        yield


def test_what_processes_below_have_at_the_same_time_is_added_up():
    with Peak() as alone:
        pass
    with holding(150, 150), Peak() as beside:
        pass
    assert alone.bytes > 5 * MIB
    assert 300 * MIB <= beside.bytes - alone.bytes < 450 * MIB


def test_what_lasts_longer_than_between_two_looks_is_seen():
    with Peak() as peak:
        before = peak.bytes
        with holding(150):
            time.sleep(2 * SECONDS)
    assert peak.bytes - before >= 150 * MIB


def test_what_was_given_back_before_does_not_count():
    held = b"1" * (150 * MIB)
    with Peak() as while_held:
        pass
    del held
    with Peak() as after:
        pass
    assert while_held.bytes - after.bytes > 100 * MIB
