"""Child processes that end with whoever started them: nothing goes on, and writes, after a `kill -9` of the parent.

The parent keeps the writing end of a pipe open that is the child's standard input; the child ends when it is closed.

    python -m sweet_rl_trainer.tether MODULE ARGUMENTS…      runs any module so
"""

from __future__ import annotations

import os
import runpy
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

INTERRUPTED = 130


def run(command: Sequence[str], **options: Any) -> int:
    """Run a command that holds on to its input; `options` are those of `subprocess.Popen`. Returns the exit code."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, **options) as process:  # noqa: S603 - our own programs
        return process.wait()


def hold_on() -> None:
    """From now on this process ends when its standard input is closed, if that is a pipe."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_end_with_input, daemon=True).start()


def _end_with_input() -> None:
    os.read(0, 1)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    hold_on()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
