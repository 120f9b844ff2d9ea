"""Evaluators to compare the sandbox with: one without isolation, and one with a process for every test.

The first works like the scorer of SWEET-RL's release (arXiv 2503.15478). For each call, it executes the source code of
the reference and of the candidate in the calling process, and compares the two values with `==`. An alarm interrupts
the candidate after 1 s.
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
    """Return the value of a call, or None if it raises an exception; functions cannot see top-level names."""
    try:
        exec(source)
        return eval(call)
    except Exception:
        return None


def serial_score(task: Task, source: str) -> float:
    """Return the share of a task's tests that pass, executed in this process."""
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
    except TimeoutError:  # raised after the call has ended
        pass
    finally:
        signal.alarm(0)


def _on_alarm(_number: int, _frame: object) -> None:
    raise TimeoutError


def process_score(task: Task, source: str, at_once: int) -> float:
    """Return the same share as `serial_score`, with a process for every test and `at_once` tests at a time."""
    waiting = iter(task.hidden.tests)
    passed = 0
    while batch := list(islice(waiting, at_once)):
        passed += sum(map(_result, [_start(task.hidden.reference, source, call) for call in batch]))
    return passed / len(task.hidden.tests)


def _start(reference: str, source: str, call: str) -> tuple[BaseProcess, Connection]:
    ours, theirs = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_report, args=(theirs, reference, source, call))
    process.start()
    theirs.close()
    return process, ours


def _report(connection: Connection, reference: str, source: str, call: str) -> None:
    connection.send(_passes(reference, source, call))


def _result(started: tuple[BaseProcess, Connection]) -> bool:
    process, connection = started
    try:
        return bool(connection.recv())
    except EOFError:
        return False
    finally:
        process.join()
        process.close()
        connection.close()
