"""Rules for bundles, and a collection of their violations, limited to a readable number.

docs/leaderboard.md explains the rules. `RULES` lacks the rules for the format of files. The package `bundle` checks
these rules, and each violation is a refusal.
"""

from __future__ import annotations

from collections import Counter

from colbench.command import printable
from colbench_leaderboard.bundle.refused import Refused, shown
from colbench_leaderboard.verify.receipt import Finding, Severity

RULES: dict[str, Severity] = {
    "lock.config": "refusal",
    "lock.digest": "refusal",
    "lock.domain": "refusal",
    "lock.model": "refusal",
    "lock.packages": "refusal",
    "lock.pins": "refusal",
    "lock.standard": "refusal",
    "lock.tasks": "refusal",
    "lock.text": "refusal",
    "lock.version": "flag",
    "grid.extra-trial": "refusal",
    "grid.seed": "refusal",
    "grid.task-hash": "refusal",
    "grid.unknown-task": "refusal",
    "grid.failed-cell": "flag",
    "grid.missing-cell": "flag",
    "protocol.answer": "refusal",
    "protocol.early-end": "refusal",
    "protocol.end": "refusal",
    "protocol.failure": "refusal",
    "protocol.human": "refusal",
    "protocol.request": "refusal",
    "protocol.said": "refusal",
    "protocol.turns": "refusal",
    "replay.reply": "refusal",
    "replay.model": "note",
    "replay.sample": "note",
    "score.none": "refusal",
    "score.void": "note",
    "audit.duplicates": "flag",
    "audit.human-role": "flag",
    "audit.reference-copies": "flag",
    "audit.undisclosed": "flag",
    "audit.undisclosed-mean": "flag",
    "audit.alike": "note",
    "audit.same-trials": "note",
    "audit.solved-untold": "note",
    "audit.copied-untold": "note",
}
SUSPECT = "audit."
"""Prefix of the rules whose flags may indicate cheating; see `awaits_decision`."""
MOST = 20
"""Maximum number of findings of one rule that are kept; further findings are only counted."""
LONGEST = 400
"""Maximum number of characters of a message."""


def awaits_decision(finding: Finding) -> bool:
    """Return True if a keeper of the leaderboard must decide about this finding before the entry is ranked.

    This holds only for flags of the audits, not for flags about versions or about cells that count as 0.
    """
    return finding.severity == "flag" and finding.rule.startswith(SUSPECT)


class Findings:
    """A collection of findings, in order."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: Counter[tuple[str, Severity]] = Counter()

    def add(self, rule: str, message: str, file: str = "", line: int | None = None) -> None:
        """Add a violation of a rule in `RULES`; the message may contain untrusted text."""
        self.append(
            Finding(
                rule=rule,
                severity=RULES[rule],
                file=shown(file),
                line=line,
                message=printable(message)[:LONGEST],
            )
        )

    def refuse(self, refused: Refused) -> None:
        """Add the error that ended the reading of the bundle."""
        self.append(
            Finding(
                rule=refused.rule,
                severity="refusal",
                file=refused.file,
                line=refused.line,
                message=refused.message,
            )
        )

    def append(self, finding: Finding) -> None:
        """Add a finding."""
        kind = (finding.rule, finding.severity)
        self._counts[kind] += 1
        if self._counts[kind] <= MOST:
            self._found.append(finding)

    @property
    def refused(self) -> bool:
        """True if one of the findings is a refusal."""
        return any(severity == "refusal" for _, severity in self._counts)

    def all(self) -> tuple[Finding, ...]:
        """Return the findings.

        For each rule with more than `MOST` findings, a further finding says how many were left out.
        """
        more = (
            Finding(
                rule=rule, severity=severity, file="", message=f"and {count - MOST:,} more of these"
            )
            for (rule, severity), count in self._counts.items()
            if count > MOST
        )
        return (*self._found, *more)
