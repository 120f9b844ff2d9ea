"""Child processes: programs of this package, each with a function `main(arguments)` that returns the exit code.

Importing torch and transformers takes seconds of CPU time, more than a small stage does. So a child is forked from a
server that has imported them, unless there is an accelerator, whose driver does not survive a fork.

A child exits with its parent, so that none keeps writing after a `kill -9` of the parent.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import IO

from colbench.console import settings_for_child

INTERRUPTED = 130
PRELOADED = ("sweet_rl_trainer.pipeline.train_examples", "sweet_rl_trainer.agents.dialogues")
"""Modules that the server imports, and with them what they import."""


def run(
    program: str,
    arguments: Sequence[str],
    *,
    launcher: Sequence[str] = (),
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> int:
    """Run a program, the name of a module, and return its exit code.

    The program must call `exit_with_parent`. With `colbench.console.inherited_output` it prints in the mode of this
    process. `launcher` is a module that starts it, with its own arguments. `stdout` and `stderr` are open files; by
    default the program writes where this process does.
    """
    streams = (stdout.fileno() if stdout else 1, stderr.fileno() if stderr else 2)
    if launcher or _has_accelerator():
        return _run_command([sys.executable, "-m", *launcher, program, *arguments], *streams)
    return _run_forked(program, arguments, streams)


def exit_with_parent() -> None:
    """Make this process exit when its parent does.

    A forked child knows its parent. Another one takes its standard input, if that is a pipe, for a sign of life: the
    parent holds the other end.
    """
    if parent := parent_process():
        threading.Thread(target=_exit_after, args=(parent.join,), daemon=True).start()
    elif stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=_exit_after, args=(os.read, 0, 1), daemon=True).start()


def _exit_after(wait: Callable[..., object], *arguments: object) -> None:
    wait(*arguments)
    os._exit(INTERRUPTED)


def _has_accelerator() -> bool:
    import torch

    return torch.accelerator.is_available()


def _environment() -> dict[str, str]:
    return {**os.environ, **settings_for_child()}


def _run_command(command: Sequence[str], stdout: int, stderr: int) -> int:
    with subprocess.Popen(  # noqa: S603 - our own programs
        command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, env=_environment()
    ) as process:
        return process.wait()


def _run_forked(program: str, arguments: Sequence[str], streams: Sequence[int]) -> int:
    context = get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    handles = [Connection(os.dup(stream)) for stream in streams]
    child = (program, list(arguments), handles, _environment())
    process = context.Process(target=_forked, args=child)
    process.start()
    for handle in handles:
        handle.close()
    try:
        process.join()
    finally:
        process.join()  # also after an interrupt, which the child receives as well
    return process.exitcode or 0


def _forked(
    program: str, arguments: Sequence[str], handles: Sequence[Connection], environ: dict[str, str]
) -> None:
    """Run a program in a process that the server has forked."""
    os.environ.clear()
    os.environ.update(environ)
    for handle, stream in zip(handles, (1, 2), strict=True):
        os.dup2(handle.fileno(), stream)
    sys.exit(import_module(program).main(arguments))
