"""The files of candidates.

FOLDER/sampled.jsonl   the candidates of each turn, in order, as sampled
FOLDER/scored.jsonl    the same candidates with their scores
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.lines import places
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn

SAMPLED, SCORED = "sampled.jsonl", "scored.jsonl"


class Sampled(Struct, frozen=True, kw_only=True):
    """A line of `sampled.jsonl`."""

    trajectory: str
    turn: int
    """Number of the turn, from 0."""
    replies: tuple[Reply, ...]
    prompt: tuple[int, ...] = ()


class Line(Struct, frozen=True, kw_only=True):
    """A line of `scored.jsonl`."""

    trajectory: str
    turn: int
    """Number of the turn, from 0."""
    replies: tuple[str, ...]
    scores: tuple[float | None, ...]
    lengths: tuple[int, ...]


def read_scored(folder: Path, trajectories: Mapping[str, Trajectory]) -> list[Scored]:
    """Return the candidates of these trajectories, with their scores and without their tokens."""
    decoder = msgspec.json.Decoder(Line)
    lines = (decoder.decode(line) for _, line in places(folder / SCORED))
    return [
        Scored(
            candidates=Candidates(
                turn=Turn(trajectory=trajectories[line.trajectory], number=line.turn),
                replies=tuple(Reply(text=text) for text in line.replies),
            ),
            scores=line.scores,
            lengths=line.lengths,
        )
        for line in lines
        if line.trajectory in trajectories
    ]


def write_scored(folder: Path, scored: Iterable[Scored]) -> None:
    """Write candidates with their scores, atomically."""
    path = folder / SCORED
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for each in scored:
            line = Line(
                trajectory=each.candidates.turn.trajectory.id,
                turn=each.candidates.turn.number,
                replies=tuple(reply.text for reply in each.candidates.replies),
                scores=each.scores,
                lengths=each.lengths,
            )
            file.write(msgspec.json.encode(line) + b"\n")
    part.rename(path)


def write_sampled(folder: Path, found: Iterable[Candidates]) -> None:
    """Write sampled candidates, atomically."""
    path = folder / SAMPLED
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for each in found:
            line = Sampled(
                trajectory=each.turn.trajectory.id,
                turn=each.turn.number,
                replies=each.replies,
                prompt=each.prompt,
            )
            file.write(msgspec.json.encode(line) + b"\n")
    part.rename(path)


class SampledFile:
    """The candidates in `sampled.jsonl`, each read on access; `trajectories` is keyed by ID."""

    def __init__(self, folder: Path, trajectories: Mapping[str, Trajectory]) -> None:
        self._path = folder / SAMPLED
        self._trajectories = trajectories
        self._count = sum(1 for _ in places(self._path))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Candidates]:
        decoder = msgspec.json.Decoder(Sampled)
        for _, content in places(self._path):
            line = decoder.decode(content)
            turn = Turn(trajectory=self._trajectories[line.trajectory], number=line.turn)
            yield Candidates(turn=turn, replies=line.replies, prompt=line.prompt)
