"""Child processes: programs of this package, each with a function `main(arguments)` that returns the exit code.

The standard input of a child is a pipe whose other end belongs to the parent. The child exits when the parent's end is
closed, so the child does not keep writing after a `kill -9` of the parent.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import IO

from colbench.console import settings_for_child
from sweet_rl_trainer.fork_server import ForkServer, Request

INTERRUPTED = 130


def run(
    program: str,
    arguments: Sequence[str],
    *,
    launcher: Sequence[str] = (),
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> int:
    """Run a program, given as the name of a module, and return its exit code (-N for signal N).

    The program is forked from a process that has imported torch (`fork_server`). If `launcher` (a module and its
    arguments) is given, that module starts the program instead. `stdout` and `stderr` are open files; by default, the
    program writes where this process does. Raises WorkerError if the process that forks the program exits first.

    The program must call `exit_with_parent`. If it uses `colbench.console.inherited_output`, it prints in the output
    mode of this process.
    """
    streams = (stdout.fileno() if stdout else 1, stderr.fileno() if stderr else 2)
    environment = {**os.environ, **settings_for_child()}
    if launcher:
        return _run_command(
            [sys.executable, "-m", *launcher, program, *arguments], environment, streams
        )
    request = Request(
        program=program,
        arguments=list(arguments),
        environment=environment,
        folder=os.getcwd(),
        path=sys.path,
    )
    return _run_forked(request, streams)


def exit_with_parent() -> None:
    """Make this process exit when its standard input is closed; do nothing if the input is not a pipe."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    os.read(0, 1)
    os._exit(INTERRUPTED)


def _run_command(
    command: Sequence[str], environment: dict[str, str], streams: tuple[int, int]
) -> int:
    stdout, stderr = streams
    with subprocess.Popen(  # noqa: S603 - our own programs
        command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, env=environment
    ) as process:
        return process.wait()


def _run_forked(request: Request, streams: tuple[int, int]) -> int:
    child, parent = os.pipe()
    try:
        return _server().run(request, (child, *streams))
    finally:
        os.close(child)
        os.close(parent)


@cache
def _server() -> ForkServer:
    return ForkServer()
