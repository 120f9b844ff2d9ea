"""The file of scored candidates.

FOLDER/scored.jsonl    each turn's candidates and their scores
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Scored, Turn

SCORED = "scored.jsonl"


class Line(Struct, frozen=True, kw_only=True):
    """A line of `scored.jsonl`."""

    trajectory: str
    turn: int
    replies: tuple[str, ...]
    scores: tuple[float | None, ...]
    lengths: tuple[int, ...]


def read_scored(folder: Path, trajectories: Mapping[str, Trajectory]) -> list[Scored]:
    """Return the candidates of these trajectories, with their scores."""
    decoder = msgspec.json.Decoder(Line)
    lines = map(decoder.decode, (folder / SCORED).read_bytes().splitlines())
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
    """Write candidates with their scores; all of them or nothing."""
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
