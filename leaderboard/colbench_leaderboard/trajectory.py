"""From a rollout to a trajectory and back: what was said, without what was made of it."""

from __future__ import annotations

from collections.abc import Callable

from colbench import rollout as played
from colbench.config import digest
from colbench.rollout import Rollout
from colbench_leaderboard.bundle import LONG, Blob, Trajectory, Turn, Words, sha256

Write = Callable[[str, bytes], None]
"""Takes the SHA-256 and the bytes of a long text."""
Read = Callable[[Blob], str]


def packed(rollout: Rollout, write: Write) -> Trajectory:
    """The trajectory of a rollout; its long texts are written as blobs. Scores, times and tokens' ids stay behind."""

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


def filled(trajectory: Trajectory, read: Read, *, domain: str, run: str) -> Rollout:
    """The rollout that a trajectory was made of, unscored; `run` is the digest of the run's pins."""

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
