"""Evaluators to compare the sandbox with: one that isolates nothing, and one with a process for every test.

The first does what the scorer of SWEET-RL's release does (arXiv 2503.15478): for each call it executes the reference's
source and the candidate's in its own process and compares the two values with `==`, an alarm of 1 s around the
candidate.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from colbench.task import Task

_FORK = multiprocessing.get_context("fork")


def output(source: str, call: str) -> Any:
    """Return the value of a call, or None if it raises; functions see no names of the top level."""
    try:
        exec(source)
        return eval(call)
    except Exception:
        return None


def serial_score(task: Task, source: str) -> float:
    """Return the share of a task's tests passed, found in this process."""
    tests = task.hidden.tests
    return sum(_passes(task.hidden.reference, source, call) for call in tests) / len(tests)


def _passes(reference: str, source: str, call: str) -> bool:
    wanted = output(reference, call)
    with _alarm():
        found = output(source, call)
    return wanted is not None and bool(wanted == found)


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.alarm(1)
    try:
        yield
    except TimeoutError:  # between the call and its end
        pass
    finally:
        signal.alarm(0)


def _on_alarm(_number: int, _frame: object) -> None:
    raise TimeoutError


def process_score(task: Task, source: str, at_once: int) -> float:
    """Return the same with a process for every test, some of them at once."""
    waiting = iter(task.hidden.tests)
    passed = 0
    while batch := list(islice(waiting, at_once)):
        passed += sum(map(_ended, [_start(task.hidden.reference, source, call) for call in batch]))
    return passed / len(task.hidden.tests)


def _start(reference: str, source: str, call: str) -> tuple[BaseProcess, Connection]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_report, args=(theirs, reference, source, call))
    process.start()
    theirs.close()
    return process, ours


def _report(connection: Connection, reference: str, source: str, call: str) -> None:
    connection.send(_passes(reference, source, call))


def _ended(started: tuple[BaseProcess, Connection]) -> bool:
    process, connection = started
    try:
        return bool(connection.recv())
    except EOFError:
        return False
    finally:
        process.join()
        process.close()
        connection.close()
