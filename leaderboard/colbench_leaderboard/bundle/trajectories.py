"""Conversion of rollouts to trajectories, whose long texts are stored as blobs, and of trajectories to rollouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from colbench import rollout as played
from colbench.config import digest
from colbench.rollout import Rollout
from colbench_leaderboard.bundle.encoding import sha256
from colbench_leaderboard.bundle.files import MIB, read_file
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import BLOBS, LONG, Blob, Trajectory, Turn, Words

MOST_FILLED = 64 * MIB
"""Maximum number of bytes of one dialogue with its blobs."""
MOST_SAID = 8192 * MIB
"""Maximum number of bytes of all dialogues with their blobs; a blob counts each time that it is used."""
Write = Callable[[str, bytes], None]
"""A function that stores a long text, given its SHA-256 and its bytes."""
Read = Callable[[Blob], str]


def to_trajectory(rollout: Rollout, write: Write) -> Trajectory:
    """Return a rollout as a trajectory, without scores, times and token IDs; `write` stores the long texts."""

    def words(text: str) -> Words:
        content = text.encode()
        if len(content) <= LONG:
            return text
        write(sha256(content), content)
        return Blob(sha256(content))

    return Trajectory(
        task_id=rollout.task_id,
        task_hash=rollout.task_hash,
        trial=rollout.trial,
        seed=rollout.seed,
        request=words(rollout.request),
        turns=tuple(
            Turn(
                raw=words(turn.raw),
                said=words(turn.said),
                human=None if turn.human is None else words(turn.human),
                agent_usage=turn.agent_usage,
                human_usage=turn.human_usage,
            )
            for turn in rollout.turns
        ),
        answer=None if rollout.answer is None else words(rollout.answer),
        ended_by=rollout.ended_by,
        failure=rollout.failure,
    )


def to_rollout(trajectory: Trajectory, read: Read, *, domain: str, run: str) -> Rollout:
    """Return the unscored rollout of a trajectory; `read` returns the text of a blob.

    `run` is the digest in the bundle's lock, which becomes part of the rollout's key.
    """

    def text(words: Words) -> str:
        return words if isinstance(words, str) else read(words)

    cell = [trajectory.task_id, trajectory.task_hash, trajectory.trial, run]
    return Rollout(
        key=digest(cell),
        task_id=trajectory.task_id,
        task_hash=trajectory.task_hash,
        domain=domain,
        trial=trajectory.trial,
        seed=trajectory.seed,
        request=text(trajectory.request),
        turns=tuple(
            played.Turn(
                raw=text(turn.raw),
                said=text(turn.said),
                human=None if turn.human is None else text(turn.human),
                agent_usage=turn.agent_usage,
                human_usage=turn.human_usage,
            )
            for turn in trajectory.turns
        ),
        answer=None if trajectory.answer is None else text(trajectory.answer),
        ended_by=trajectory.ended_by,
        failure=trajectory.failure,
    )


class BlobReader:
    """A reader that checks and reads the blobs of a bundle's dialogues, one dialogue at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._total = 0
        self._latest: tuple[str, str] = ("", "")
        self.used: set[str] = set()
        """SHA-256 of each blob used so far."""

    def check(self, trajectory: Trajectory, file: str, line: int) -> None:
        """Raise Refused, with this file and line, if a text breaks a rule.

        Rules: `words.long`, `words.short`, `words.size`, `blob.missing`.
        """

        def refused(rule: str, message: str) -> Refused:
            return Refused(rule, message, file=file, line=line)

        total = 0
        for words in _texts(trajectory):
            size = len(words.encode()) if isinstance(words, str) else self._size(words)
            if isinstance(words, Blob) and size < 0:
                raise refused("blob.missing", f"missing from the bundle: the blob {words.blob}")
            if isinstance(words, str) and size > LONG:
                raise refused(
                    "words.long", f"a text of {size} bytes; texts longer than {LONG} must be blobs"
                )
            if isinstance(words, Blob) and size <= LONG:
                raise refused(
                    "words.short", f"a blob of {size} bytes; texts of up to {LONG} must be inline"
                )
            total += size
        self._total += total
        if total > MOST_FILLED:
            raise refused(
                "words.size", f"a dialogue of {total} bytes; at most {MOST_FILLED} are allowed"
            )
        if self._total > MOST_SAID:
            raise refused("words.size", f"all dialogues together have more than {MOST_SAID} bytes")

    def text(self, blob: Blob) -> str:
        """Return the text of a blob. Raises Refused (`blob.text`) if the blob is not UTF-8."""
        if self._latest[0] != blob.blob:
            name = f"{BLOBS}/{blob.blob}"
            try:
                self._latest = (blob.blob, read_file(self._folder, name).decode("utf-8"))
            except UnicodeDecodeError as cause:
                raise Refused("blob.text", f"not UTF-8: {cause.reason}", file=name) from cause
        return self._latest[1]

    def _size(self, blob: Blob) -> int:
        self.used.add(blob.blob)
        try:
            return (self._folder / BLOBS / blob.blob).lstat().st_size
        except OSError:
            return -1


def _texts(trajectory: Trajectory) -> Iterator[Words]:
    yield trajectory.request
    for turn in trajectory.turns:
        yield turn.raw
        yield turn.said
        if turn.human is not None:
            yield turn.human
    if trajectory.answer is not None:
        yield trajectory.answer
