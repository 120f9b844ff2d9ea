"""Expected values of the hidden tests, computed once per task from its reference and kept by the harness.

The computation runs the reference twice in the sandbox, the second time with a different hash seed, random seed and
clock. If a call times out, both runs are repeated once. A call with two different results is `unstable`. A call that
fails in the same way both times, or whose value cannot be compared, is `unscorable`.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from msgspec import Struct

from colbench.errors import SandboxError
from colbench.sandbox import CallResult, CodeSandbox, Job, JobResult
from colbench.sandbox.values import MalformedValueError, comparable, equal, show
from colbench.task import Task

Standing = Literal["stable", "unstable", "unscorable"]
Columns = tuple[tuple[CallResult, ...], ...]
"""Three columns with the results of all calls: the first run in `module` and in `split`, the second run in `module`."""


class Expected(Struct, frozen=True, kw_only=True):
    """The expected result of one call."""

    call: str
    standing: Standing
    value: bytes = b""
    """The encoded value; empty if the call failed."""
    official: bytes = b""
    """The value when the reference is executed as in the released scorer; empty if the call then fails."""
    shown: str = ""
    """The value in human-readable form or, if the call failed, the error or a word such as `timeout`."""


class References:
    """The expected values of tasks, computed once per task and shared by all callers."""

    def __init__(self, box: CodeSandbox) -> None:
        self._box = box
        self._known: dict[str, asyncio.Task[tuple[Expected, ...]]] = {}

    async def of(self, task: Task) -> tuple[Expected, ...]:
        """Return the expected result of each hidden test, in order.

        Raises SandboxError if the sandbox fails; the next call then runs the tests again.
        """
        running = self._known.get(task.hash)
        if running is None:
            running = asyncio.create_task(self._compute(task))
            running.add_done_callback(lambda done: self._forget_failure(task.hash, done))
            self._known[task.hash] = running
        return await asyncio.shield(running)

    def _forget_failure(self, key: str, done: asyncio.Task[tuple[Expected, ...]]) -> None:
        if done.cancelled() or done.exception():
            del self._known[key]

    async def _compute(self, task: Task) -> tuple[Expected, ...]:
        calls = task.hidden.tests
        columns = await self._run(task)
        if any(result.status == "timeout" for column in columns for result in column):
            columns = _merged(columns, await self._run(task))  # the machine may have been busy
        return tuple(map(_expected, calls, *columns))

    async def _run(self, task: Task) -> Columns:
        """Run the reference twice: first in both namespaces, then in `module` only. Return the results of all calls."""
        source, calls = task.hidden.reference, task.hidden.tests
        first, second = await self._box.run(
            [
                Job(source=source, calls=calls, namespaces=("module", "split")),
                Job(source=source, calls=calls, rehearsal=True),
            ]
        )
        for result in (first, second):
            if isinstance(result, SandboxError):
                raise result
        assert isinstance(first, JobResult) and isinstance(second, JobResult)  # noqa: PT018, S101
        return _columns(first, second)


def _columns(first: JobResult, second: JobResult) -> Columns:
    return first.calls["module"], first.calls["split"], second.calls["module"]


def _merged(first: Columns, second: Columns) -> Columns:
    """Return the results in `first`; if a call timed out or was skipped in `first`, return its result in `second`."""
    late = {"timeout", "skipped"}
    return tuple(
        tuple(again if value.status in late else value for value, again in zip(*both, strict=True))
        for both in zip(first, second, strict=True)
    )


def _expected(call: str, value: CallResult, official: CallResult, again: CallResult) -> Expected:
    try:
        return Expected(
            call=call,
            standing=_standing(value, again),
            value=value.value,
            official=official.value,
            shown=show(value.value) if value.status == "value" else value.message or value.status,
        )
    except MalformedValueError as cause:
        raise SandboxError(
            f"the value that the reference returned in a test cannot be read: {cause}"
        ) from cause


def _standing(value: CallResult, again: CallResult) -> Standing:
    if value.status == again.status == "value":
        if not (comparable(value.value) and comparable(again.value)):
            return "unscorable"
        return "stable" if equal(value.value, again.value) else "unstable"
    return "unscorable" if value.status == again.status else "unstable"
