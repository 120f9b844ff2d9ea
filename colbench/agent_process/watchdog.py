"""A program that runs a command and, when standard input ends, stops the command and everything that it started.

Run it as `python -I watchdog.py COMMAND...`. The process that starts the watchdog keeps the other end of standard input
open. The system closes that end when the process dies, even by `kill -9`. The watchdog then gives the command `GRACE`
seconds to end, and kills everything that is left. It also finds descendants that left the command's process group or
session: the watchdog is the subreaper of its descendants, so it becomes the parent of every descendant whose own
parent has died.

With `--lifeline=FD --grace=SECONDS` before the command, the watchdog watches the inherited pipe FD instead of standard
input, and SECONDS replaces `GRACE`. Standard input and output then belong to the command; the watchdog keeps neither
open.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

GRACE = 10.0
"""Seconds for the command to end after SIGTERM; then everything is killed."""
NOT_STARTED = 127
"""Exit code if the command could not be started."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STDIN, STDOUT = 0, 1


def main(command: Sequence[str], lifeline: int = STDIN, grace: float = GRACE) -> int:
    """Run the command until it ends, or until the other end of the pipe `lifeline` is closed; then stop what is left.

    The command has `grace` seconds to end after SIGTERM. Return the command's exit code, 128 + N if signal N ended the
    command, or `NOT_STARTED` if the command could not be started.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        process = subprocess.Popen(  # noqa: S603 - its purpose is to run a given command
            command,
            stdin=subprocess.DEVNULL if lifeline == STDIN else None,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - there is one thread here
        )
    except OSError as cause:
        print(f"{command[0]}: {cause.strerror}", file=sys.stderr)
        return NOT_STARTED
    if lifeline != STDIN:
        _let_go(STDIN, STDOUT)
    try:
        _wait(process, lifeline)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _stop(process, grace)
        _kill_the_rest()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _let_go(*files: int) -> None:
    """Point these descriptors at the null device, so that only the command holds the pipes open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in files:
        os.dup2(nothing, file)


def _wait(process: subprocess.Popen[bytes], lifeline: int) -> None:
    while process.poll() is None:
        readable, _, _ = select.select([lifeline], [], [], 0.1)
        if readable and not os.read(lifeline, 4096):
            return


def _stop(process: subprocess.Popen[bytes], grace: float) -> None:
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _kill_the_rest() -> None:
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            for child in _children(os.getpid()):
                os.kill(child, signal.SIGKILL)
            time.sleep(0.02)


def _children(parent: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text("utf-8", "replace").rpartition(")")[2]
        except OSError:
            continue
        if int(after_name.split()[1]) == parent:
            yield int(stat.parent.name)


def _end_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[0].startswith("--lifeline="):
        lifeline, grace = (option.partition("=")[2] for option in given[:2])
        sys.exit(main(given[2:], int(lifeline), float(grace)))
    sys.exit(main(given))
