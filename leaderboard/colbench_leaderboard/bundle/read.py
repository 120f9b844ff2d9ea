"""Reading a submitted bundle, a folder or a `.tar.gz`, without trusting the content.

    with read_bundle(path) as bundle:
        bundle.submission, bundle.lock, bundle.digest
        for cell in bundle.cells():
            cell.file, cell.line, cell.rollout

If anything cannot be read safely or does not follow the schema, `Refused` is raised, with rule, file and line. A
bundle that can be read is only well-formed: `verify` checks its content.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from colbench.rollout import Rollout
from colbench_leaderboard.bundle.archive import unpack
from colbench_leaderboard.bundle.encoding import decode, require_flat, sha256
from colbench_leaderboard.bundle.files import (
    MIB,
    SIZES,
    open_file,
    parse_manifest,
    plain_files,
    read_file,
    require_manifest,
    trajectory_file,
)
from colbench_leaderboard.bundle.plain_text import require_plain
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import (
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
)
from colbench_leaderboard.bundle.submission import score_key
from colbench_leaderboard.bundle.trajectories import BlobReader, to_rollout

Part = TypeVar("Part", Submission, Lock)
MOST_LINE = 8 * MIB
"""Maximum number of bytes of a trajectory, without its blobs."""
MOST_COUNTED = 1 << 40
"""The largest value that a trajectory may state for a number of tokens or requests, a trial, or a seed."""


class Cell(NamedTuple):
    """An unscored dialogue of the bundle, with its file and line."""

    file: str
    line: int
    rollout: Rollout


class Bundle:
    """A bundle whose files match its manifest; when the `with` block ends, unpacked files are removed."""

    def __init__(
        self, folder: Path, unpacked: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self.folder = folder
        self._unpacked = unpacked
        self.files = plain_files(folder)
        """The names of all files."""
        manifest = read_file(folder, MANIFEST)
        self.digest = sha256(manifest)
        require_manifest(folder, parse_manifest(manifest), self.files - {MANIFEST})
        self.submission = _part(folder, SUBMISSION, Submission)
        require_plain(self.submission)
        self.lock = _part(folder, LOCK, Lock)
        require_flat(self.lock.config, LOCK)
        require_flat(self.lock.pins, LOCK)

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        if self._unpacked:
            self._unpacked.cleanup()

    def cells(self) -> Iterator[Cell]:
        """Yield the dialogues, sorted by task and trial; only one at a time is in memory.

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
                message = (
                    f"trial {here[1]} of {here[0]!a}: cells must be sorted by task and trial, "
                    "without duplicates"
                )
                raise Refused("trajectories.order", message, file=file, line=line)
            before = here
            _require_counts(trajectory, file, line)
            blobs.check(trajectory, file, line)
            yield Cell(file, line, to_rollout(trajectory, blobs.text, domain=domain, run=run))
        prefix = f"{BLOBS}/"
        for name in sorted(name for name in self.files if name.startswith(prefix)):
            if name.removeprefix(prefix) not in blobs.used:
                raise Refused("blob.unused", "no trajectory refers to it", file=name)

    def check_cells(self) -> None:
        """Check every dialogue. Raises Refused, as `cells` does, if a dialogue breaks a rule."""
        for _ in self.cells():
            pass

    def _lines(self) -> Iterator[tuple[str, int, bytes]]:
        names = sorted(name for name in self.files if name.startswith(f"{TRAJECTORIES}/"))
        for number, name in enumerate(names):
            if name != (expected := trajectory_file(number)):
                raise Refused(
                    "trajectories.files",
                    f"{expected}, which must precede it, is missing",
                    file=name,
                )
            line = 0
            with open_file(self.folder, name) as file:
                while content := file.readline(MOST_LINE + 2):
                    line += 1
                    if not content.endswith(b"\n"):
                        long = len(content) > MOST_LINE
                        message = (
                            f"more than {MOST_LINE} bytes" if long else "no line break at its end"
                        )
                        raise Refused("json.size", message, file=name, line=line)
                    yield name, line, content[:-1]
            last = number == len(names) - 1
            if not (line == PER_FILE or (last and 0 < line < PER_FILE)):
                message = f"{line} lines; every file but the last has {PER_FILE}, the last 1 to {PER_FILE}"
                raise Refused("trajectories.files", message, file=name)


def read_bundle(path: Path) -> Bundle:
    """Open a bundle: a folder, or a `.tar.gz`, which is unpacked into a new temporary folder.

    Raises Refused if the bundle is malformed, and DataError if the archive or a file of the bundle cannot be read.
    """
    if path.is_symlink():
        raise Refused("archive.link", f"{path} is a symbolic link; use its target")
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
    content = read_file(folder, name)
    try:
        part = decode(content, kind, most=SIZES[name], file=name)
    except Refused as found:
        if found.rule == "schema.submission" and (key := score_key(json.loads(content))):
            message = f"`{key}`: scores are not submitted; they are recomputed from the transcripts"
            raise Refused("submission.score", message, file=name) from found
        raise
    if part.schema != SCHEMA:
        message = f"`schema` is {part.schema[:40]!a}, expected {SCHEMA}"
        raise Refused("schema.version", message, file=name)
    return part


def _require_counts(trajectory: Trajectory, file: str, line: int) -> None:
    usages = [u for turn in trajectory.turns for u in (turn.agent_usage, turn.human_usage) if u]
    numbers = [trajectory.seed, trajectory.trial]
    numbers += [n for u in usages for n in (u.prompt_tokens, u.completion_tokens, u.requests)]
    for number in numbers:
        if not 0 <= number <= MOST_COUNTED:
            message = (
                f"`seed`, `trial`, or a count in a usage is less than 0 or more than {MOST_COUNTED}"
            )
            raise Refused("trajectories.number", message, file=file, line=line)
