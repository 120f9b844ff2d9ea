"""The score of a dialogue. `None` means "not scored" and is never read as 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Literal

from msgspec import Struct

Outcome = Literal["passed", "wrong", "error", "timeout", "skipped", "unstable", "unscorable"]
"""The outcome of one hidden test.

`skipped`: the test was not run, because the answer is not runnable code or had timed out too often; it counts as
failed. `unstable`: the reference itself gives different values in two runs; the test is left out of the score.
`unscorable`: the reference raises, or its value cannot be compared; the test is left out of the default mode's score.
"""
LEFT_OUT: frozenset[Outcome] = frozenset({"unstable", "unscorable"})
"""Outcomes of tests that do not count."""


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hidden test of one answer; `expected` and `actual` are Python values (shortened) or errors."""

    call: str
    outcome: Outcome
    expected: str = ""
    actual: str = ""

    @property
    def line(self) -> str:
        """The test and its outcome in one line."""
        got = self.actual or "nothing"
        return f"{self.outcome}: {self.call}: expected {self.expected}, got {got}"


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of one scorer on one rollout."""

    scorer: str
    """Name, mode and version: `unit-tests/default/2`."""
    value: float | None
    """The domain's primary metric, such as the share of hidden tests passed. None if not scored."""
    success: bool | None
    """True if the answer succeeded (backend: passes every test that counts).

    None if not scored, or if the domain does not define success.
    """
    checks: tuple[Check, ...] = ()
    outcome: str = ""
    """The domain's word for why the answer could not be measured; empty if it was measured.

    In frontend design, it is the outcome of a page that has no picture, such as `varies` or `timeout`.
    """
    note: str = ""
    """Explanation of the value: why it is None or 0, or which tests were left out."""
    metrics: Mapping[str, float] = {}
    """Further metrics, by name: those metrics of the domain and of extra scorers that could be computed.

    In frontend design, they include the primary metric.
    """
    floors: dict[str, dict[str, float]] = {}
    """The metrics of answers that need no dialogue, for comparison: by name of the answer, then by name of the metric.

    In frontend design, these answers are a black page (`black`), a white page (`white`), the target of another task
    (`other`), and the task's own target (`target`).
    """
    environment: str = ""
    """The environment of the measurement: sandbox tier, Python version and limits, or the browser."""

    @property
    def flaw(self) -> str:
        """The first of `value` and `metrics` that is infinite or NaN, with its name; "" if all of them are finite."""
        numbers = {"value": self.value, **self.metrics}
        wrong = (
            f"{name} = {n}" for name, n in numbers.items() if n is not None and not isfinite(n)
        )
        return next(wrong, "")

    def failed_checks(self) -> list[str]:
        """Return the tests that the answer did not pass, one line each, including tests that do not count."""
        return [check.line for check in self.checks if check.outcome != "passed"]
