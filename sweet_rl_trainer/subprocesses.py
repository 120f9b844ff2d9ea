"""Child processes that exit with their parent, so that no child keeps writing after a `kill -9` of the parent.

The child's standard input is a pipe whose writing end the parent keeps open; the child exits when it is closed.
"""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from colbench.console import settings_for_child

INTERRUPTED = 130


def run(command: Sequence[str], **options: Any) -> int:
    """Run a command with a pipe as its standard input and return its exit code.

    `options` are those of `subprocess.Popen`. The command must call `exit_with_parent`. With
    `colbench.console.inherited_output` it prints in the mode of this process.
    """
    environment = {**os.environ, **settings_for_child()}
    with subprocess.Popen(  # noqa: S603 - our own programs
        command, stdin=subprocess.PIPE, env=environment, **options
    ) as process:
        return process.wait()


def exit_with_parent() -> None:
    """Make this process exit when its standard input is closed, if that is a pipe."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    os.read(0, 1)
    os._exit(INTERRUPTED)
