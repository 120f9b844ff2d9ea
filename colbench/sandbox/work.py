"""A running job: the results so far, and the calls left for the next child process.

A child process gets all calls that are left in one namespace (`jobs.Namespace`), but only the budget (time and threads)
of a single call. A call that the child finishes has therefore stayed within the budget, whatever the child reports.

- If a child uses up its budget after it has finished some calls, the next child gets the remaining calls and a full
  budget.
- If a child uses up its budget before it has finished any call, the first call has exceeded the budget, and fails.
- If a child dies in another way, the call in which it died fails.

Each namespace has its own children. If the source does not compile, or if all children of the first namespace find that
the second namespace gives equal results, the results for the first namespace also count for the second.
"""

from __future__ import annotations

import marshal
import warnings
from functools import lru_cache
from types import CodeType

from msgspec import Struct

from colbench.sandbox.jobs import (
    TIMEOUTS_ALLOWED,
    CallResult,
    Job,
    JobResult,
    Limits,
    Namespace,
    parse_line,
)

_REHEARSAL_CLOCK = 3 * 366 * 86400.0 + 40 * 86400.0 + 5 * 3600.0 + 17 * 60.0
"""Seconds by which a rehearsal's clock is ahead, so that year, month, day, weekday, hour and minute differ."""
_LONG_CALL = 10_000
"""Maximum length in characters of a call to compile here; longer calls are compiled only inside the sandbox."""
_SKIPPED = CallResult(status="skipped")
_BUDGETS = ("cpu", "wall", "threads")
"""Values of `Ending.reason` for a used-up budget. All calls share it, so each single call may have stayed within it."""


@lru_cache(maxsize=1 << 16)
def compiled(call: str) -> CodeType | str:
    """Compile a test's call once for all candidates.

    If the call is long, or if compiling it causes an error or a warning, return its source instead.
    """
    if len(call) > _LONG_CALL:
        return call.strip()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return compile(call.strip(), "<string>", "eval", dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
            return call.strip()


class Ending(Struct, frozen=True, kw_only=True):
    """The end of one child, and everything that the child wrote."""

    reason: str
    """`ended` if the child ended by itself; otherwise, the reason why the child was killed.

    `cpu`, `wall` and `threads`: the child used up a budget. `flood`: it wrote too much (such a child may have ended by
    itself). `hung-up`: its socket was shut down.
    """
    status: int
    """Exit code, or the negative number of the signal that ended the child."""
    output: bytes


class Work:
    """The state of one job, updated after each of its children ends."""

    def __init__(self, job: Job, limits: Limits) -> None:
        self._job = job
        self._limits = limits
        self._done: dict[Namespace, tuple[CallResult, ...]] = {}
        self._pending = list(job.namespaces) if job.calls else []
        self._results: list[CallResult] = []
        """Results of the calls in the first pending namespace."""
        self._invalid = ""
        self._same = True
        """True as long as all children of the first pending namespace find that the other one gives equal results."""

    @property
    def left(self) -> int:
        """The number of the job's calls that the next child must run; 0 if the job is done."""
        return len(self._job.calls) - len(self._results) if self._pending else 0

    def payload(self) -> bytes:
        """Return the encoded job for the next child. Call this only if `left` is not 0."""
        return marshal.dumps(
            {
                "source": self._job.source,
                "calls": [compiled(call) for call in self._job.calls[len(self._results) :]],
                "namespace": self._pending[0],
                "random_seed": int(self._job.rehearsal),
                "clock_shift": _REHEARSAL_CLOCK if self._job.rehearsal else 0,
            }
        )

    def absorb(self, ending: Ending) -> None:
        """Record the results that a child wrote and, if the child died in a call, the failure of that call."""
        first, *lines = ending.output.split(b"\n", self.left + 1)[:-1] or [b""]
        self._same &= first == b"same"
        invalid = first.startswith(b"invalid\t")
        if invalid:
            self._invalid = parse_line(first).message
            self._skip()
        else:
            self._results += map(parse_line, lines)
        if self.left and (not lines or ending.reason not in _BUDGETS):
            self._settle(ending)
        if not self.left:
            self._finish(self._pending[:] if invalid or self._same else self._pending[:1])

    def result(self) -> JobResult:
        """Return the job's result. Call this only if `left` is 0."""
        return JobResult(
            calls={name: self._done.get(name, ()) for name in self._job.namespaces},
            invalid=self._invalid,
        )

    def _settle(self, ending: Ending) -> None:
        self._results.append(self._died(ending))
        if sum(each.status == "timeout" for each in self._results) >= TIMEOUTS_ALLOWED:
            self._skip()

    def _skip(self) -> None:
        self._results += [_SKIPPED] * self.left

    def _finish(self, namespaces: list[Namespace]) -> None:
        """Store the collected results for each of `namespaces`."""
        for namespace in namespaces:
            self._done[namespace] = tuple(self._results)
            self._pending.remove(namespace)
        self._results, self._same = [], True

    def _died(self, ending: Ending) -> CallResult:
        limits = self._limits
        match ending.reason:
            case "cpu":
                spent = f"{limits.cpu_seconds:g} s of CPU time used up"
                return CallResult(status="timeout", message=spent)
            case "wall":
                spent = f"not finished after {limits.wall_seconds:g} s"
                return CallResult(status="timeout", message=spent)
            case "threads":
                return CallResult(
                    status="error", message=f"started more than {limits.threads} threads"
                )
            case "flood":
                return CallResult(
                    status="error", message="wrote more than the maximum size of a result"
                )
        if ending.status < 0:
            return CallResult(status="error", message=f"killed by signal {-ending.status}")
        return CallResult(status="error", message=f"ended the process (status {ending.status})")
