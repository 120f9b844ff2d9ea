"""What was found wrong, in the order in which it was found, and never more of it than can be read."""

from __future__ import annotations

from collections import Counter

from colbench.command import printable
from colbench_leaderboard.receipt import Finding, Severity
from colbench_leaderboard.refused import Refused, shown
from colbench_leaderboard.verify.rules import RULES

MOST = 20
"""Findings of one rule that are told one by one; of the rest only the number."""
LONGEST = 400
"""Characters of a message."""


class Findings:
    """Collects findings."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: Counter[tuple[str, Severity]] = Counter()

    def add(self, rule: str, message: str, file: str = "", line: int | None = None) -> None:
        """Note that a rule of `RULES` is broken; free text of strangers may be in the message."""
        self._append(
            Finding(
                rule=rule,
                severity=RULES[rule],
                file=shown(file),
                line=line,
                message=printable(message)[:LONGEST],
            )
        )

    def refuse(self, refused: Refused) -> None:
        """Note why reading stopped."""
        self._append(
            Finding(
                rule=refused.rule,
                severity="refusal",
                file=refused.file,
                line=refused.line,
                message=refused.message,
            )
        )

    def _append(self, finding: Finding) -> None:
        kind = (finding.rule, finding.severity)
        self._counts[kind] += 1
        if self._counts[kind] <= MOST:
            self._found.append(finding)

    @property
    def refused(self) -> bool:
        """Whether there is a refusal among them."""
        return any(severity == "refusal" for _, severity in self._counts)

    def all(self) -> tuple[Finding, ...]:
        """All of them, with how many more there are of a rule that was broken too often to tell each time."""
        more = (
            Finding(
                rule=rule, severity=severity, file="", message=f"and {count - MOST:,} more of these"
            )
            for (rule, severity), count in self._counts.items()
            if count > MOST
        )
        return (*self._found, *more)
