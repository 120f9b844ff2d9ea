"""Finding transcripts that occur more than once: in other bundles, or as trials of one task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from colbench.config import digest
from colbench.errors import UserError
from colbench.rollout import Rollout
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.verify.findings import MOST, Findings
from colbench_leaderboard.verify.receipt import Receipt

DUPLICATES = "audit.duplicates"
LEAST_WORDS = 20
"""Words of the agent in a dialogue; with fewer, two agents may say the same by chance."""
WORD = re.compile(r"\w+")


class Transcripts:
    """Hashes of the transcripts of a bundle."""

    def __init__(self, rollouts: Iterable[Rollout] = ()) -> None:
        self.hashes: set[str] = set()
        self._trials: dict[str, list[str]] = {}
        for rollout in rollouts:
            self.add(rollout)

    def add(self, rollout: Rollout) -> None:
        """Add one, by the words that the human saw and those of the answer; layout and private parts are ignored."""
        texts = [turn.said for turn in rollout.turns]
        if rollout.answer and rollout.ended_by == "answer":
            texts.append(rollout.answer)
        if sum(len(text.split()) for text in texts) >= LEAST_WORDS:
            words = [WORD.findall(text.casefold()) for text in texts]
            found = digest([rollout.task_hash, words])
            self.hashes.add(found)
            self._trials.setdefault(rollout.task_id, []).append(found)

    def report_trials(self, trials: int, findings: Findings) -> None:
        """Add a finding if all trials of a task are the same dialogue."""
        same = sum(len(row) == trials > 1 == len(set(row)) for row in self._trials.values())
        if same:
            message = f"in {same:,} tasks all {trials} trials are the same dialogue, and so say nothing of chance"
            findings.add("audit.same-trials", message)


def report_shared(mine: Transcripts, own: str, others: Sequence[Path], findings: Findings) -> None:
    """Flag transcripts that other bundles hold as well, except the bundle with the digest `own` itself.

    Only the bundles that share most are named, so that verifying against these alone gives the same findings. Raises
    UserError if one cannot be read.
    """
    shared = {found for path in others if (found := _shared(mine, own, path))}
    for other, name, count in sorted(shared, key=lambda one: (-one[2], one[0]))[:MOST]:
        shares = f"{count:,} of {len(mine.hashes):,} dialogues with {LEAST_WORDS} words or more of the agent"
        findings.add(DUPLICATES, f"{shares} are word for word those of {name}, bundle {other}")


def _shared(mine: Transcripts, own: str, path: Path) -> tuple[str, str, int] | None:
    try:
        with read_bundle(path) as bundle:
            theirs = Transcripts(cell.rollout for cell in bundle.cells())
            count = len(mine.hashes & theirs.hashes)
            same = bundle.digest == own
            return None if same or not count else (bundle.digest, bundle.submission.name, count)
    except Refused as cause:
        raise UserError(f"--against {path}: {cause}") from cause


def duplicated(receipt: Receipt) -> list[str]:
    """Return the digests of the bundles that share transcripts according to a receipt, to verify against again."""
    named = (each.message for each in receipt.findings if each.rule == DUPLICATES)
    return [message.rpartition(" ")[2] for message in named]
