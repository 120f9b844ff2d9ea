"""What came of verifying a bundle, and the three files in which it is told; see `colbench_leaderboard.receipt`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from colbench.errors import UserError
from colbench.version import __version__
from colbench_leaderboard.bundle import canonical, sha256
from colbench_leaderboard.receipt import (
    RECEIPT,
    SCORES,
    SUMMARY,
    CellScore,
    Finding,
    Receipt,
    Summary,
    Tier,
)
from colbench_leaderboard.verify.findings import Findings


class Outcome(Struct, frozen=True, kw_only=True):
    """The receipt and what it names; `summary` is None and `scores` empty where the bundle is refused."""

    receipt: Receipt
    summary: Summary | None = None
    scores: tuple[CellScore, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """The files by name; of a refused bundle only the receipt."""
        receipt = {RECEIPT: canonical(self.receipt)}
        if self.summary is None:
            return receipt
        return {SCORES: _lines(self.scores), SUMMARY: canonical(self.summary), **receipt}

    def write(self, folder: Path) -> None:
        """Write the files, and remove those of an earlier verdict. Raises UserError that names `--out`."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (SCORES, SUMMARY, RECEIPT):
                (folder / name).unlink(missing_ok=True)
            for name, content in self.files.items():
                (folder / name).write_bytes(content)
        except OSError as cause:
            raise UserError(f"--out {folder}: cannot be written: {cause.strerror}") from cause


def refused(bundle: str, tasks: str, findings: Findings) -> Outcome:
    """The outcome for a bundle that is refused."""
    return Outcome(receipt=_receipt(bundle, tasks, findings.all()))


def accepted(
    bundle: str,
    tasks: str,
    findings: Findings,
    *,
    scorer: str,
    tier: Tier,
    replayed: int,
    summary: Summary,
    scores: Sequence[CellScore],
) -> Outcome:
    """The outcome for a bundle that is accepted, with whatever was flagged."""
    receipt = _receipt(
        bundle,
        tasks,
        findings.all(),
        scorer=scorer,
        tier=tier,
        replayed=replayed,
        scores=sha256(_lines(scores)),
        summary=sha256(canonical(summary)),
    )
    return Outcome(receipt=receipt, summary=summary, scores=tuple(scores))


def _receipt(
    bundle: str,
    tasks: str,
    findings: tuple[Finding, ...],
    *,
    scorer: str = "",
    tier: Tier | None = None,
    replayed: int = 0,
    scores: str = "",
    summary: str = "",
) -> Receipt:
    return Receipt(
        bundle=bundle,
        colbench=__version__,
        tasks=tasks,
        scorer=scorer,
        tier=tier,
        findings=findings,
        replayed=replayed,
        scores=scores,
        summary=summary,
    )


def _lines(scores: Sequence[CellScore]) -> bytes:
    return b"".join(canonical(score) + b"\n" for score in scores)
