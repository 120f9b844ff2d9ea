"""The result of verifying a bundle: three files or, for a refused bundle, only the receipt.

    verified/scores.jsonl   `CellScore`: canonical JSON, one line for each cell of the grid, by task and trial
    verified/summary.json   `Summary`
    verified/receipt.json   `Receipt`

With the same versions of ColBench and of the domain's package, and the same tasks, scorer and settings (`--replay`,
`--against`), the files have the same bytes. Therefore, the files contain no time, machine or path, and values of cells
are rounded to `Metric.digits` before any mean is computed. Scores and summary leave out tasks that the receiver's
scorer cannot judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from colbench.errors import UserError
from colbench.stats import Estimate
from colbench.version import __version__
from colbench_leaderboard.bundle.encoding import canonical, sha256

SCHEMA = "colbench.receipt/2"
SCORES, SUMMARY, RECEIPT = "scores.jsonl", "summary.json", "receipt.json"
Level = Literal["V1", "V2", "V3"]
"""A verification level. V1: rescored. V2: the simulated human was replayed. V3: the maintainers repeated the run."""
Severity = Literal["refusal", "flag", "note"]
"""A refusal rejects an entry; a note is only recorded.

A flag is shown with the entry; after a flag from an audit, the entry has no rank until a keeper decides.
"""


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One violation of a rule."""

    rule: str
    """The rule's short name, such as `grid.missing-cell`; docs/leaderboard.md lists all rules."""
    severity: Severity
    file: str
    """Path of the file in the bundle; "" for the whole bundle."""
    line: int | None = None
    """Line number, from 1."""
    message: str


class CellScore(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The recomputed score and counts of one dialogue."""

    task_id: str
    trial: int
    value: float
    """The domain's primary metric."""
    success: bool | None
    """None in a domain without a success metric."""
    official: float | None = None
    """The value in the official scoring mode; None if the domain lacks the mode, or the mode cannot judge the task."""
    turns: int
    answered: bool
    """True if the agent ended the dialogue with an answer, False if the turn limit or a failure ended it."""
    agent_words: int
    human_words: int
    agent_tokens: int | None = None
    """Number of the agent's tokens, as stated by the bundle; None unless the bundle states them for every turn."""
    failure: str = ""
    """The boundary (see `colbench.errors`) at which a cell without an answer failed, such as `agent`.

    `absent` if the bundle lacks the cell; "" if the cell did not fail.
    """
    outcome: str = ""
    """The reason why the answer could not be measured (`Score.outcome`), such as `varies` for a changing page."""
    asking: dict[str, float] = {}
    """Measures of the questions, from the transcript: `ask_precision`, `ask_recall`, `ask_f1`, if defined."""
    by_turn: tuple[float, ...] = ()
    """For each turn, the value that the dialogue would have if it had ended there.

    The field is empty if the dialogue has no answer, or if the scorer does not judge turns.
    """


class Summary(Struct, frozen=True, kw_only=True):
    """The scores and counts of a leaderboard entry."""

    domain: str
    tasks: int
    trials: int
    value: Estimate
    success: Estimate | None
    """None in a domain without a success metric."""
    pass_k: tuple[float, ...]
    """Probability that k trials of a task all succeed, for each k from 1 to `trials`.

    The field is empty in a domain without a success metric.
    """
    turns: Estimate
    agent_words: Estimate
    human_words: Estimate
    answered: float
    """Share of the dialogues that the agent ended with an answer."""
    success_by_turn: tuple[float, ...]
    """Share of the dialogues that had succeeded by turn 1, 2, …; without a success metric, the mean value by turn."""
    asking: dict[str, Estimate] = {}
    """`ask_precision`, `ask_recall`, `ask_f1`: means over the dialogues for which they are defined."""
    undisclosed: float | None
    """Mean share of the hidden facts that answers used although the human never revealed them.

    None if no task with an answer has hidden facts.
    """


class Receipt(Struct, frozen=True, kw_only=True):
    """The verdict on a bundle."""

    schema: str = SCHEMA
    bundle: str
    """Digest of the bundle."""
    colbench: str
    """The version of ColBench that verified the bundle."""
    domain_package: str | UnsetType = UNSET
    """Name and version of the receiver's package of the domain; not set if ColBench itself provides the domain."""
    tasks: str
    """The hash of the receiver's own tasks."""
    scorer: str
    """Name of the scorer; "" if the bundle is refused or has no answer."""
    level: Level | None
    """The verification level; None if the bundle is refused."""
    findings: tuple[Finding, ...]
    replayed: int
    """Number of the human's replies that the replayed human gave again."""
    scores: str
    """SHA-256 of scores.jsonl; "" if the bundle is refused."""
    summary: str
    """SHA-256 of summary.json; "" if the bundle is refused."""


class Outcome(Struct, frozen=True, kw_only=True):
    """A receipt and the files that it names; for a refused bundle, `summary` is None and `scores` is empty."""

    receipt: Receipt
    summary: Summary | None = None
    scores: tuple[CellScore, ...] = ()

    @property
    def files(self) -> Mapping[str, Iterable[bytes]]:
        """The lines of each file, by file name. A refused bundle has only the receipt."""
        receipt = {RECEIPT: [canonical(self.receipt)]}
        if self.summary is None:
            return receipt
        return {SCORES: _lines(self.scores), SUMMARY: [canonical(self.summary)], **receipt}

    def write(self, folder: Path) -> None:
        """Replace the files of an earlier verification in a folder. Raises UserError if a file cannot be written."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_files(folder)
            for name, lines in self.files.items():
                with (folder / name).open("wb") as file:
                    file.writelines(lines)
        except OSError as cause:
            raise UserError(f"{folder}: cannot be written: {cause.strerror}") from cause


def remove_files(folder: Path) -> None:
    """Remove the files of an earlier verification from a folder."""
    for name in (SCORES, SUMMARY, RECEIPT):
        (folder / name).unlink(missing_ok=True)


def refused(bundle: str, tasks: str, findings: tuple[Finding, ...], *, package: str) -> Outcome:
    """Return the outcome of a refused bundle; `package` becomes `Receipt.domain_package`."""
    return Outcome(
        receipt=Receipt(
            bundle=bundle,
            colbench=__version__,
            domain_package=package or UNSET,
            tasks=tasks,
            scorer="",
            level=None,
            findings=findings,
            replayed=0,
            scores="",
            summary="",
        )
    )


def accepted(
    bundle: str,
    tasks: str,
    findings: tuple[Finding, ...],
    *,
    package: str,
    scorer: str,
    level: Level,
    replayed: int,
    summary: Summary,
    scores: Sequence[CellScore],
) -> Outcome:
    """Return the outcome of an accepted bundle, which may have flags; `package`: see `Receipt.domain_package`."""
    receipt = Receipt(
        bundle=bundle,
        colbench=__version__,
        domain_package=package or UNSET,
        tasks=tasks,
        scorer=scorer,
        level=level,
        findings=findings,
        replayed=replayed,
        scores=_hash(_lines(scores)),
        summary=sha256(canonical(summary)),
    )
    return Outcome(receipt=receipt, summary=summary, scores=tuple(scores))


def _lines(scores: Sequence[CellScore]) -> Iterator[bytes]:
    return (canonical(score) + b"\n" for score in scores)


def _hash(lines: Iterable[bytes]) -> str:
    """Return the SHA-256 of lines, reading one line into memory at a time."""
    found = hashlib.sha256()
    for line in lines:
        found.update(line)
    return found.hexdigest()
