"""What a dialogue was worth. `None` means "not scored" and is never read as 0."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Outcome = Literal["passed", "wrong", "error", "timeout", "skipped", "unstable", "unscorable"]
"""How one hidden test ended.

`skipped`: not run, because the answer is no runnable code or had timed out too often; counts as failed.
`unstable`: the reference itself does not give the same value twice; left out of the score.
`unscorable`: the reference raises, or its value cannot be compared; left out of the default mode's score.
"""


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hidden test of one answer; values are shown as Python writes them, shortened."""

    call: str
    outcome: Outcome
    expected: str = ""
    actual: str = ""


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of one scorer on one rollout."""

    scorer: str
    """Name, mode and version: `unit-tests/default/1`."""
    value: float | None
    """Backend: the share of hidden tests passed. Frontend: the cosine, in [-1, 1]. None: not scored."""
    success: bool | None
    """Backend: every test passed. Frontend: None. None: not scored."""
    checks: tuple[Check, ...] = ()
    note: str = ""
    """What the value does not say: why it is None or 0, or which tests were left out."""
    metrics: dict[str, float] = {}
    """Frontend: every measure that could be taken, by name; see docs/frontend.md."""
    floors: dict[str, dict[str, float]] = {}
    """Frontend: the same measures for pages that nobody designed: `black`, `white`, `other` (another target),
    and for the `target` itself."""
    environment: str = ""
    """Where it was measured: sandbox tier, Python version, limits."""

    def failed_checks(self) -> list[str]:
        """Return the tests that the answer did not pass, one line each."""
        return [
            f"{check.outcome}: {check.call}: expected {check.expected}, got {check.actual or 'nothing'}"
            for check in self.checks
            if check.outcome != "passed"
        ]
