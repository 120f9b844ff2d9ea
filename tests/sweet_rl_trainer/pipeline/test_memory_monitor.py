"""The peak memory of a process and its subprocesses."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from mmap import mmap

import pytest

pytest.importorskip("psutil", reason="psutil is not installed (colbench[train])")

from sweet_rl_trainer.pipeline.memory_monitor import SECONDS, MemoryMonitor

MIB = 2**20
HOLDING = "import sys; held = b'1' * ({mib} << 20); print(flush=True); sys.stdin.read()"


@contextmanager
def holding(*sizes):
    """Run a subprocess for each size, which holds that many MiB until the block ends."""
    with ExitStack() as stack:
        for mib in sizes:
            command = [sys.executable, "-c", HOLDING.format(mib=mib)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.enter_context(process)
            process.stdout.readline()
        yield


def test_the_memory_of_concurrent_subprocesses_is_added():
    with MemoryMonitor() as alone:
        pass
    with holding(150, 150), MemoryMonitor() as beside:
        pass
    assert alone.peak > 5 * MIB
    assert 300 * MIB <= beside.peak - alone.peak < 450 * MIB


def test_a_peak_longer_than_the_polling_interval_is_seen():
    with MemoryMonitor() as monitor:
        before = monitor.peak
        with holding(150):
            time.sleep(2 * SECONDS)
    assert monitor.peak - before >= 150 * MIB


def test_memory_released_before_the_block_does_not_count():
    with mmap(-1, 150 * MIB) as held:  # freed when it is closed, which an allocator may delay
        held.write(b"1" * (150 * MIB))
        with MemoryMonitor() as while_held:
            pass
    with MemoryMonitor() as after:
        pass
    assert while_held.peak - after.peak > 100 * MIB
