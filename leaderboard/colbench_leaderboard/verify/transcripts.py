"""Detection of repeated transcripts: exact or near copies in other bundles, and identical trials of one task.

Two dialogues on a task are alike if they share at least half of the pairs of nearby words in the agent's messages, and
90% of the runs of neighboring parts of the answers (`Domain.shape`). Comments, names, layout and a few added or removed
words make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import digest
from colbench.errors import DataError
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench_leaderboard.bundle.read import Cell, read_bundle
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.verify.findings import MOST, Findings
from colbench_leaderboard.verify.receipt import Finding, Receipt
from colbench_leaderboard.verify.shingles import Shingles, containment, pairs, runs

DUPLICATES, ALIKE = "audit.duplicates", "audit.alike"
"""Rules that a bundle breaks if its dialogues resemble other entries' dialogues.

`DUPLICATES` is for resemblances in at least half of the bundle's dialogues, and `ALIKE` for fewer.
"""
MOSTLY, NOTED = 0.5, 0.1
"""Minimum shares of a bundle's dialogues that resemble other entries' dialogues.

`NOTED`: the share for a finding about one other entry. `MOSTLY`: the share for a flag, counted over all entries with a
finding.
"""
DELETED = ", which was deleted"
"""The end of a message about a bundle that was deleted after the comparison."""
HELD = 16 * 1024 * 1024
"""Number of characters of a bundle's transcripts that are in memory while other bundles are read.

The words of these transcripts, and the pairs of the words, need about 45 bytes per character.
"""
LEAST_WORDS = 20
"""Minimum number of the agent's words in a dialogue; with fewer, two agents may use the same words by chance."""
WORD = re.compile(r"\w+")
REACH, RUN = 3, 5
"""Maximum distance of the words in a pair, and number of neighboring parts of an answer in a run."""
SAME_QUESTIONS, SAME_ANSWER = 0.5, 0.9
"""Minimum shares of common pairs and of common runs for two dialogues to count as alike."""


class Transcript(Struct, frozen=True, kw_only=True, dict=True):
    """The parts of a dialogue that are compared with the dialogues of other bundles."""

    exact: str
    """Hash of the task, the agent's words that the human saw, and the words of the answer."""
    said: Sequence[Sequence[str]]
    """The words of each message of the agent."""
    domain: str
    answer: str
    size: int
    """Number of characters of the agent's messages and the answer."""

    @cached_property
    def questions(self) -> Shingles:
        """The pairs of nearby words in the agent's messages."""
        return frozenset().union(*(pairs(each, REACH) for each in self.said))

    @cached_property
    def shape(self) -> Shingles:
        """All runs of `RUN` consecutive parts in the answer's shape (`Domain.shape`)."""
        domain = get_domain(self.domain)
        return runs(domain.shape(domain.source(self.answer)), RUN)


Numbered = tuple[int, Transcript]


def transcript(rollout: Rollout) -> Transcript | None:
    """Return the parts of a dialogue that are compared; None if they have fewer than `LEAST_WORDS` words.

    These parts are the agent's words that the human saw, and the answer's words; layout does not count.
    """
    said = [WORD.findall(turn.said.casefold()) for turn in rollout.turns]
    answer = (rollout.answer or "") if rollout.ended_by == "answer" else ""
    texts = [turn.said for turn in rollout.turns] + [answer] * bool(answer)
    if sum(len(text.split()) for text in texts) < LEAST_WORDS:
        return None
    words = [*said, WORD.findall(answer.casefold())] if answer else said
    return Transcript(
        exact=digest([rollout.task_hash, words]),
        said=said,
        domain=rollout.domain,
        answer=answer,
        size=sum(map(len, texts)),
    )


class Transcripts:
    """A comparison of a bundle's transcripts with each other and with the transcripts of other bundles."""

    def __init__(self, own: str, others: Sequence[Path] = (), *, held: int = HELD) -> None:
        """Prepare to compare a bundle, whose digest is `own`, with the bundles at `others`.

        If `others` contains the bundle itself, it is skipped. When the bundle's transcripts in memory reach `held`
        characters, they are compared with all other bundles and then discarded.
        """
        self.count = 0
        """Number of transcripts compared."""
        self._own, self._others, self._most = own, others, held
        self._trials: dict[str, tuple[int, str]] = {}
        self._held: dict[str, list[Numbered]] = {}
        self._size = 0
        self._shared: dict[str, tuple[str, Shared]] = {}

    def add(self, rollout: Rollout) -> None:
        """Add a dialogue, unless the agent uses fewer than `LEAST_WORDS` words in it.

        Raises DataError if one of the other bundles cannot be read.
        """
        found = transcript(rollout)
        if found is None:
            return
        number, exact = self._trials.get(rollout.task_hash, (0, found.exact))
        same = exact if exact == found.exact else ""
        self._trials[rollout.task_hash] = number + 1, same
        if self._others:
            self._held.setdefault(rollout.task_hash, []).append((self.count, found))
            self._size += found.size
        self.count += 1
        if self._size >= self._most:
            self._compare()

    def report_trials(self, trials: int, findings: Findings) -> None:
        """Add a finding if there are tasks whose trials are all the same dialogue."""
        same = sum(number == trials > 1 and exact != "" for number, exact in self._trials.values())
        if same:
            message = f"in {same:,} tasks all {trials} trials are the same dialogue, so chance cannot be measured"
            findings.add("audit.same-trials", message)

    def report_shared(self, findings: Findings) -> None:
        """Report transcripts that other bundles also contain.

        There is a finding for each bundle that shares at least a tenth of the transcripts, but only for the `MOST`
        bundles that share the most. If the bundles of the findings together share at least half of the transcripts,
        each finding is a flag; otherwise each is a note. Verifying against only the bundles of the findings gives the
        same findings. Raises DataError if a bundle cannot be read.
        """
        self._compare()
        reported = (
            (other, name, shared)
            for other, (name, shared) in self._shared.items()
            if shared.alike and len(shared.alike) >= NOTED * self.count
        )
        named = sorted(reported, key=lambda one: (-len(one[2].alike), one[0]))[:MOST]
        together = len(frozenset().union(*(shared.alike for _, _, shared in named)))
        for other, name, shared in named:
            alike = len(shared.alike)
            others = f" (together with other entries: {together:,})" if together > alike else ""
            findings.add(
                DUPLICATES if together >= MOSTLY * self.count else ALIKE,
                f"{alike:,} of {self.count:,} dialogues with {LEAST_WORDS} words or more of the agent resemble "
                f"those of {name}, {shared.exact:,} of them word for word{others}: bundle {other}",
            )

    def _compare(self) -> None:
        """Compare the transcripts in memory with the other bundles, then discard the transcripts."""
        found: dict[str, tuple[str, Shared]] = {}
        for path in self._others if self._held else ():
            try:
                with read_bundle(path) as bundle:
                    if bundle.digest not in (self._own, *found):
                        found[bundle.digest] = bundle.submission.name, self._among(bundle.cells())
            except Refused as cause:
                raise DataError(f"--against {path}: {cause}") from cause
        for other, (name, more) in found.items():
            _, shared = self._shared.get(other, (name, Shared(exact=0, alike=frozenset())))
            self._shared[other] = name, shared + more
        self._held, self._size = {}, 0

    def _among(self, cells: Iterable[Cell]) -> Shared:
        """Find the transcripts in memory that also occur in `cells`, word for word or nearly so."""
        exact: set[int] = set()
        alike: set[int] = set()
        for cell in cells:
            own = self._held.get(cell.rollout.task_hash)
            other = transcript(cell.rollout) if own else None
            if own and other:
                exact.update(number for number, each in own if each.exact == other.exact)
                alike.update(_like(own, other))
        return Shared(exact=len(exact), alike=frozenset(exact | alike))


class Shared(Struct, frozen=True, kw_only=True):
    """The transcripts that two bundles share."""

    exact: int
    """Number of transcripts that are equal word for word."""
    alike: frozenset[int]
    """Numbers of the identical and nearly identical transcripts."""

    def __add__(self, other: Shared) -> Shared:
        return Shared(exact=self.exact + other.exact, alike=self.alike | other.alike)


def _like(own: Sequence[Numbered], other: Transcript) -> list[int]:
    """Return the numbers of the transcripts in `own` that nearly equal `other`, a transcript of another bundle."""
    near = [
        (number, each)
        for number, each in own
        if containment(each.questions, other.questions) >= SAME_QUESTIONS
    ]
    return [number for number, each in near if containment(each.shape, other.shape) >= SAME_ANSWER]


def duplicated(receipt: Receipt) -> list[str]:
    """Return the digests of the bundles with which a receipt's bundle shares transcripts.

    To reproduce the receipt, verify the bundle `--against` all of them. Bundles marked as deleted are left out.
    """
    return [_named(each) for each in _of_others(receipt) if not each.message.endswith(DELETED)]


def of_deleted(receipt: Receipt, deleted: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return a receipt's findings about deleted bundles, which a new verification cannot make again.

    `deleted`: digests of bundles that were deleted after the receipt was made. `DELETED` is added to the messages about
    these bundles.
    """
    marked = (
        replace(each, message=f"{each.message}{DELETED}") if _named(each) in deleted else each
        for each in _of_others(receipt)
    )
    return tuple(each for each in marked if each.message.endswith(DELETED))


def _of_others(receipt: Receipt) -> list[Finding]:
    return [each for each in receipt.findings if each.rule in (DUPLICATES, ALIKE)]


def _named(finding: Finding) -> str:
    return finding.message.rpartition(" ")[2]
