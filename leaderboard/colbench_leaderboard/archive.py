"""Reading a bundle that somebody sent, folder or `.tar.gz`, without trusting anything in it.

    with read_bundle(path) as bundle:
        bundle.submission, bundle.lock, bundle.digest
        for cell in bundle.cells():
            cell.file, cell.line, cell.rollout

What cannot be read safely, or is not as `bundle` says, raises `Refused`, which names rule, file and line. What is read
is only well-formed: whether it is true, is for `verify` to say.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from colbench.rollout import Rollout
from colbench_leaderboard.bundle import (
    BLOBS,
    LOCK,
    MANIFEST,
    PER_FILE,
    SCHEMA,
    SUBMISSION,
    TRAJECTORIES,
    Lock,
    Submission,
    Trajectory,
    sha256,
)
from colbench_leaderboard.files import (
    MIB,
    SIZES,
    opened,
    plain_files,
    read,
    trajectory_file,
    unpack,
)
from colbench_leaderboard.manifest import listed, require_same
from colbench_leaderboard.people import require_plain
from colbench_leaderboard.refused import Refused
from colbench_leaderboard.scores import score_key
from colbench_leaderboard.strict_json import decode, require_flat
from colbench_leaderboard.trajectory import filled
from colbench_leaderboard.words import BlobReader

__all__ = ["Bundle", "Cell", "Refused", "read_bundle"]

Part = TypeVar("Part", Submission, Lock)
MOST_LINE = 8 * MIB
"""Bytes of a trajectory, without its blobs."""
MOST_COUNTED = 1 << 40
"""The largest number of tokens or requests, trial or seed that is read."""


class Cell(NamedTuple):
    """A dialogue of the bundle and where it stands; blobs are filled in, nothing is scored."""

    file: str
    line: int
    rollout: Rollout


class Bundle:
    """A bundle whose files are those of its manifest; leaving it (`with`) removes what was unpacked."""

    def __init__(
        self, folder: Path, unpacked: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self.folder = folder
        self._unpacked = unpacked
        self.files = plain_files(folder)
        """The names of all files."""
        manifest = read(folder, MANIFEST)
        self.digest = sha256(manifest)
        require_same(folder, listed(manifest), self.files - {MANIFEST})
        self.submission = _part(folder, SUBMISSION, Submission)
        require_plain(self.submission)
        self.lock = _part(folder, LOCK, Lock)
        require_flat([self.lock.config, self.lock.pins], LOCK)

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        if self._unpacked:
            self._unpacked.cleanup()

    def cells(self) -> Iterator[Cell]:
        """The dialogues by task and trial, one in memory at a time.

        Raises Refused: `trajectories.files`, `trajectories.order`, `trajectories.number`, `words.…`, `blob.…`,
        `json.…`, `schema.trajectory`.
        """
        blobs = BlobReader(self.folder)
        domain, run = self.lock.tasks.domain, self.lock.digest
        before: tuple[str, int] | None = None
        for file, line, content in self._lines():
            trajectory = decode(content, Trajectory, most=MOST_LINE, file=file, line=line)
            here = (trajectory.task_id, trajectory.trial)
            if before is not None and here <= before:
                said = (
                    f"trial {here[1]} of {here[0]!a}: cells are sorted by task and trial, each once"
                )
                raise Refused("trajectories.order", said, file=file, line=line)
            before = here
            _require_counts(trajectory, file, line)
            blobs.check(trajectory, file, line)
            yield Cell(file, line, filled(trajectory, blobs.text, domain=domain, run=run))
        prefix = f"{BLOBS}/"
        for name in sorted(name for name in self.files if name.startswith(prefix)):
            if name.removeprefix(prefix) not in blobs.named:
                raise Refused("blob.unused", "no trajectory names it", file=name)

    def _lines(self) -> Iterator[tuple[str, int, bytes]]:
        names = sorted(name for name in self.files if name.startswith(f"{TRAJECTORIES}/"))
        for number, name in enumerate(names):
            if name != (expected := trajectory_file(number)):
                raise Refused("trajectories.files", f"{expected} is missing before it", file=name)
            line = 0
            with opened(self.folder, name) as file:
                while content := file.readline(MOST_LINE + 2):
                    line += 1
                    if not content.endswith(b"\n"):
                        said = f"no line break at its end, or more than {MOST_LINE} bytes"
                        raise Refused("json.size", said, file=name, line=line)
                    yield name, line, content[:-1]
            last = number == len(names) - 1
            if not (line == PER_FILE or (last and 0 < line < PER_FILE)):
                said = f"{line} lines; every file but the last has {PER_FILE}, the last 1 to {PER_FILE}"
                raise Refused("trajectories.files", said, file=name)


def read_bundle(path: Path) -> Bundle:
    """The bundle in a folder or a `.tar.gz`, which is unpacked into a fresh temporary folder.

    Raises Refused where it is not well-formed, DataError where there is nothing to read.
    """
    if path.is_symlink():
        raise Refused("archive.link", f"{path} is a symbolic link; name what it leads to")
    if path.is_dir():
        return Bundle(path)
    unpacked = tempfile.TemporaryDirectory(prefix="colbench-bundle-")
    try:
        unpack(path, Path(unpacked.name))
        return Bundle(Path(unpacked.name), unpacked)
    except BaseException:
        unpacked.cleanup()
        raise


def _part(folder: Path, name: str, kind: type[Part]) -> Part:
    content = read(folder, name)
    try:
        part = decode(content, kind, most=SIZES[name], file=name)
    except Refused as found:
        if found.rule == "schema.submission" and (key := score_key(json.loads(content))):
            said = f"`{key}`: nobody says their own score; it is recomputed from the transcripts"
            raise Refused("submission.score", said, file=name) from found
        raise
    if part.schema != SCHEMA:
        raise Refused("schema.version", f"{part.schema[:40]!a}, expected {SCHEMA}", file=name)
    return part


def _require_counts(trajectory: Trajectory, file: str, line: int) -> None:
    usages = [u for turn in trajectory.turns for u in (turn.agent_usage, turn.human_usage) if u]
    numbers = [trajectory.seed, trajectory.trial]
    numbers += [n for u in usages for n in (u.prompt_tokens, u.completion_tokens, u.requests)]
    for number in numbers:
        if not 0 <= number <= MOST_COUNTED:
            said = f"a number that is less than 0 or more than {MOST_COUNTED}"
            raise Refused("trajectories.number", said, file=file, line=line)
