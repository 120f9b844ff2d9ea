"""Hidden unit tests: the share of a task's calls on which the answer returns the reference's value.

`default` is ColBench's own verdict. `official` reproduces the released scorer's verdicts on honest answers (SWEET-RL,
arXiv 2503.15478, released code): top-level names are not visible inside functions, some strings are banned, and a
result of None never matches. Expected values never enter the process that runs an answer. The harness compares the
values here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from colbench.config import ScoringMode
from colbench.domains.backend.answers import MAX_ANSWER, banned_text, extract_code
from colbench.domains.backend.references import Expected, References
from colbench.sandbox import CallResult, CodeSandbox, Job, JobResult, Namespace
from colbench.sandbox.values import MalformedValueError, equal, show
from colbench.score import LEFT_OUT, Check, Outcome, Score
from colbench.task import Task

VERSION = 2
_LONG_VALUE = 1 << 15
"""Size in bytes above which values are compared in a thread."""
_NAMESPACE: dict[ScoringMode, Namespace] = {"default": "module", "official": "split"}
MODES: tuple[ScoringMode, ...] = tuple(_NAMESPACE)


class Validation(Struct, frozen=True, kw_only=True):
    """Properties of a task that are checked before the task is used."""

    task_id: str
    scores: dict[str, Score]
    """The scores of the reference itself as an answer, by scoring mode."""
    unstable: tuple[str, ...]
    """Calls on which the reference does not give the same value twice."""
    unscorable: tuple[tuple[str, str], ...]
    """Calls on which the reference fails or gives a value that cannot be compared, each with that error or value."""
    constant: bool
    """True if all stable calls (at least two) return the same value, so that an answer can ignore its arguments."""
    expected: tuple[Expected, ...]
    """The expected result of each call."""


class UnitTestScorer:
    """A scorer that runs backend answers in a given sandbox. The sandbox must have been started.

    `modes` names the verdicts to compute; computing both verdicts costs hardly more than computing one verdict.
    """

    def __init__(self, box: CodeSandbox, modes: Sequence[ScoringMode] = MODES) -> None:
        self._box = box
        self._modes = modes
        self._references = References(box)

    async def score(self, task: Task, answer: str) -> dict[str, Score]:
        """Return the verdicts on an answer, by mode. Raises SandboxError if the sandbox, not the answer, fails."""
        expected = await self._references.of(task)
        refused = _refusal(answer)
        modes = tuple(mode for mode in self._modes if not refused[mode])
        results = await self._run(task, answer, modes)
        return {
            mode: await self._verdict(mode, expected, results.get(mode), refused[mode])
            for mode in self._modes
        }

    async def validate(self, task: Task) -> Validation:
        """Return a task's properties, determined by running its reference. Raises SandboxError if the sandbox fails."""
        expected = await self._references.of(task)
        values = [item.value for item in expected if item.standing == "stable"]
        return Validation(
            task_id=task.id,
            scores=await self.score(task, task.hidden.reference),
            unstable=tuple(item.call for item in expected if item.standing == "unstable"),
            unscorable=tuple(
                (item.call, item.shown) for item in expected if item.standing == "unscorable"
            ),
            constant=len(values) > 1 and all(equal(values[0], value) for value in values),
            expected=expected,
        )

    async def _run(
        self, task: Task, answer: str, modes: tuple[ScoringMode, ...]
    ) -> dict[ScoringMode, JobResult]:
        """Run the answer's program for each mode; if both modes have the same program, run it only once."""
        sources: dict[str, list[ScoringMode]] = {}
        for mode in modes:
            sources.setdefault(extract_code(answer, mode), []).append(mode)
        runs = await asyncio.gather(
            *(
                self._box.run_one(
                    Job(
                        source=source,
                        calls=task.hidden.tests,
                        namespaces=tuple(_NAMESPACE[mode] for mode in same),
                    )
                )
                for source, same in sources.items()
            )
        )
        return {
            mode: run for run, same in zip(runs, sources.values(), strict=True) for mode in same
        }

    async def _verdict(
        self,
        mode: ScoringMode,
        expected: tuple[Expected, ...],
        result: JobResult | None,
        refused: str,
    ) -> Score:
        skipped = (CallResult(status="skipped"),) * len(expected)
        calls = result.calls[_NAMESPACE[mode]] if result else skipped
        if any(len(call.value) > _LONG_VALUE for call in calls):
            checks = await asyncio.to_thread(_checks, mode, expected, calls)
        else:
            checks = _checks(mode, expected, calls)
        invalid = (
            f"the answer is not valid Python: {result.invalid}" if result and result.invalid else ""
        )
        return _score(mode, checks, refused or invalid, self._box.environment)


def _refusal(answer: str) -> dict[ScoringMode, str]:
    """Return, for each mode, the reason why an answer is not run, or "" if the answer is run."""
    if not answer.strip():
        return dict.fromkeys(_NAMESPACE, "the answer is empty")
    if len(answer) > MAX_ANSWER:
        note = f"the answer has {len(answer)} characters; at most {MAX_ANSWER} are run"
        return dict.fromkeys(_NAMESPACE, note)
    banned = banned_text(answer)
    refused: dict[ScoringMode, str] = {
        "default": "",
        "official": f"the answer contains `{banned}`" if banned else "",
    }
    return {mode: note or _lack(answer, mode) for mode, note in refused.items()}


def _lack(answer: str, mode: ScoringMode) -> str:
    return "" if extract_code(answer, mode).strip() else "the answer's code block is empty"


def _checks(
    mode: ScoringMode, expected: tuple[Expected, ...], calls: tuple[CallResult, ...]
) -> tuple[Check, ...]:
    return tuple(_check(mode, want, got) for want, got in zip(expected, calls, strict=True))


def _check(mode: ScoringMode, want: Expected, got: CallResult) -> Check:
    outcome: Outcome
    if want.standing == "unstable" or (want.standing == "unscorable" and mode == "default"):
        return Check(call=want.call, outcome=want.standing, expected=want.shown)
    if got.status != "value":
        outcome, actual = got.status, got.message
    else:
        outcome, actual = _compare(mode, want, got.value)
    return Check(call=want.call, outcome=outcome, expected=want.shown, actual=actual)


def _compare(mode: ScoringMode, want: Expected, value: bytes) -> tuple[Outcome, str]:
    """Return the outcome of a call that returned a value, and the value in human-readable form.

    For a malformed value, the outcome is `error`, and the text describes the flaw.
    """
    try:
        matches = _matches(mode, want, value)
        return ("passed" if matches else "wrong"), (want.shown if matches else show(value))
    except MalformedValueError as error:
        return "error", str(error)


def _matches(mode: ScoringMode, want: Expected, value: bytes) -> bool:
    if mode == "default":
        return equal(want.value, value)
    return want.official not in (b"", b"null") and equal(want.official, value, "official")


def _score(mode: ScoringMode, checks: tuple[Check, ...], note: str, environment: str) -> Score:
    counted = [check for check in checks if check.outcome not in LEFT_OUT]
    passed = sum(check.outcome == "passed" for check in counted)
    notes = [note] if note else []
    for kind in ("unstable", "unscorable"):
        left_out = sum(check.outcome == kind for check in checks)
        if left_out:
            tests = "1 test" if len(checks) == 1 else f"{len(checks)} tests"
            notes.append(f"{left_out} of {tests} left out: the reference is {kind} there")
    return Score(
        scorer=f"unit-tests/{mode}/{VERSION}",
        value=passed / len(counted) if counted else None,
        success=passed == len(counted) if counted else None,
        checks=checks,
        note="; ".join(notes),
        environment=environment,
    )
