"""The folder of a run: `run.json` with the record, `rollouts.jsonl` with the dialogues, and a lock for the writer."""

from __future__ import annotations

import fcntl
import logging
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from colbench.checkout import find_commit
from colbench.config import RunConfig, digest
from colbench.config_errors import did_you_mean_path
from colbench.errors import DataError, InUseError, UserError
from colbench.pins import changed_pins
from colbench.rollout import Rollout, encode_rollout, read_rollouts
from colbench.rollout_file import RolloutReader, latest_rollouts
from colbench.task import FRONTEND
from colbench.version import __version__

SCHEMA = "colbench.run/2"
EARLIER = "colbench.run/1"
"""Schema of records that have `browser`, the environment of frontend design, in place of `environments`."""


class TaskSource(Struct, frozen=True, kw_only=True):
    """The tasks of a run; `hash` covers the ids and hashes of the selected tasks, in order."""

    source: str
    file: str = ""
    """Absolute path of the source if the source is a file; the path is not published."""
    count: int
    hash: str


class RunRecord(Struct, frozen=True, kw_only=True):
    """The content of `run.json`: the configuration, the versions, and everything else that could change a result."""

    schema: str = SCHEMA
    colbench: str = __version__
    commit: str = ""
    """Commit of the harness, with `-dirty` if files were changed; empty if the harness is not in a checkout.

    If attempts at the run had different values of a field in `VERSIONS`, the field has all values; see `join_values`.
    """
    python: str = platform.python_version()
    platform: str = platform.platform()
    started: str
    config: RunConfig
    pins: dict[str, Any]
    """The values hashed into `digest`; a run can be resumed only if they are unchanged."""
    digest: str
    sandbox: str = ""
    """Isolation of answers. For code: tier, Python version and limits. For pages: the browser's sandbox."""
    environments: dict[str, str] = {}
    """Version and settings of the tools that produce the scores, such as the browser, by domain."""
    tasks: TaskSource
    learned: dict[str, list[str]] = {}
    """Properties of models and servers that the run discovered, by role, such as a request field that is refused."""


VERSIONS = ("commit", "python", "platform", "sandbox")
"""Fields of the record that can differ between attempts at a run. The values in `environments` can differ too."""
SHOWN = 10
"""Maximum number of runs that a message lists."""
VALUES = " | "
"""Separator between the values of a field of the record that differed between attempts at a run."""


def join_values(*values: str) -> str:
    """Return the different values of a field of the record, in order; each value may itself be the result of a join."""
    return VALUES.join(dict.fromkeys(each for value in values for each in value.split(VALUES)))


def versions_of(record: RunRecord) -> dict[str, str]:
    """Return the versions of the software of a run by name, such as `tools.frontend`; "" if unknown."""
    tools = {f"tools.{name}": value for name, value in record.environments.items()}
    return {name: getattr(record, name) for name in VERSIONS} | tools


def join_versions(records: Sequence[RunRecord]) -> RunRecord:
    """Return the first record; a field in which the records have different versions contains all versions."""
    fixed = {name: join_values(*(getattr(each, name) for each in records)) for name in VERSIONS}
    tools: dict[str, str] = {}
    for name, value in (pair for each in records for pair in each.environments.items()):
        tools[name] = join_values(tools.get(name, value), value)
    sandbox = join_values(*(each.sandbox for each in records if each.sandbox))
    return msgspec.structs.replace(records[0], **fixed | {"sandbox": sandbox}, environments=tools)


def make_record(
    config: RunConfig, resolved: dict[str, dict[str, str]], tasks: TaskSource
) -> RunRecord:
    """Return the record of a run that starts now; `resolved`: pins of the agent, the human and the scorers."""
    values = {"colbench": __version__, "config": config.pins(), **resolved}
    pins = msgspec.json.decode(msgspec.json.encode(values))  # as they are when read from a file
    return RunRecord(
        commit=find_commit(),
        started=now(),
        config=config,
        pins=pins,
        digest=digest(pins),
        tasks=tasks,
    )


def now() -> str:
    """Return the time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RunFolder:
    """The folder of one run, with methods that read and write its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record_path = path / "run.json"
        self.rollouts_path = path / "rollouts.jsonl"
        self.tasks_path = path / "tasks.jsonl"
        """The file with the tasks of a run that was given tasks as objects; other runs do not have this file."""

    def record(self) -> RunRecord:
        """Read `run.json`. Raises DataError if it is missing or malformed."""
        try:
            record = _read_record(self.record_path.read_bytes())
        except OSError as cause:
            raise DataError(
                f"{self.path} is not a run folder: {self._why_unread(cause)}"
            ) from cause
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
            raise DataError(
                f"{self.record_path}: {cause}; restore this file, or run the evaluation again with another --out"
            ) from cause
        if record.schema != SCHEMA:
            raise DataError(f"{self.record_path}: {record.schema} needs a newer ColBench")
        return record

    def _why_unread(self, cause: OSError) -> str:
        """Return why `run.json` cannot be read; if possible, suggest runs in the folder or a run of similar name."""
        name = self.record_path.name
        if not isinstance(cause, FileNotFoundError):
            return f"{name} cannot be read: {cause.strerror}"
        if not self.path.exists():
            runs = (record.parent for record in self.path.parent.glob(f"*/{name}"))
            return f"it does not exist{did_you_mean_path(self.path, runs)}"
        if inside := sorted(str(record.parent) for record in self.path.glob(f"*/{name}")):
            more = ", …" if len(inside) > SHOWN else ""
            return f"it contains runs; choose one: {', '.join(inside[:SHOWN])}{more}"
        return f"{name} cannot be read: {cause.strerror}"

    def rollouts(self) -> list[Rollout]:
        """Return the rollouts so far."""
        return read_rollouts(self.rollouts_path) if self.rollouts_path.exists() else []

    def latest(self) -> Iterator[tuple[int, Rollout]]:
        """Yield each dialogue's latest rollout and its byte offset, one at a time, beginning at the end of the file."""
        return latest_rollouts(self.rollouts_path)

    def reader(self) -> RolloutReader:
        """Return a reader of single rollouts by their byte offsets."""
        return RolloutReader(self.rollouts_path)

    @property
    def has_rollouts(self) -> bool:
        """True if the run has a finished dialogue; a run that failed to start has no finished dialogue."""
        return self.rollouts_path.exists() and self.rollouts_path.stat().st_size > 0

    def _begin(self, record: RunRecord) -> None:
        if self.record_path.exists() and self.has_rollouts:
            earlier = self.record()
            if earlier.digest != record.digest:
                raise UserError(_refusal(self.path, earlier, record))
            record = msgspec.structs.replace(earlier, config=record.config, tasks=record.tasks)
        self.save(record)

    def refuse_foreign(self) -> None:
        """Raise UserError if the folder contains files but no run; hidden files do not count."""
        try:
            refuse_foreign(self.path, "run", "run.json", own=self.record_path.exists())
        except OSError as cause:
            raise UserError(f"--out {self.path}: cannot be read: {cause.strerror}") from cause

    def save(self, record: RunRecord) -> None:
        """Write `run.json`."""
        self.write("run.json", msgspec.json.format(msgspec.json.encode(record), indent=2))

    def note_versions(self, record: RunRecord) -> None:
        """Add the versions of an attempt to `run.json`, and warn if an earlier attempt had other versions."""
        earlier = self.record()
        together = join_versions((earlier, record))
        known, logger = versions_of(earlier), logging.getLogger("colbench")
        for name, value in versions_of(together).items():
            if known.get(name) and value != known[name]:
                logger.warning("%s differs from that of earlier dialogues: %s", name, value)
        self.save(together)

    def note_learned(self, learned: dict[str, list[str]]) -> None:
        """Write newly learned properties of the models into `run.json`; do nothing if the folder was deleted."""
        if not self.record_path.exists():
            return
        record = self.record()
        together = {**record.learned, **learned}
        if together != record.learned:
            self.save(msgspec.structs.replace(record, learned=together))

    @contextmanager
    def writing(self, record: RunRecord) -> Iterator[RolloutWriter]:
        """Start or resume the run of `record`, as the only writer of this folder.

        Raises UserError if another process uses the folder, or if the folder contains a run with another configuration
        (the message shows the difference) or anything other than a run.
        """
        self.refuse_foreign()
        with self.lock("--out"):
            self._begin(record)
            writer = RolloutWriter(self.rollouts_path)
            try:
                yield writer
            finally:
                writer.close()

    @contextmanager
    def lock(self, flag: str = "") -> Iterator[None]:
        """Lock the folder against other processes; see `hold`."""
        with hold(self.path / ".lock", self.path, flag=flag):
            yield

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the folder atomically, and return its path. Raises UserError if it cannot be written."""
        with self.replacing(name) as file:
            file.write(content)
        return self.path / name

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Yield a new file; when complete, it replaces the folder's file `name`. Raises UserError if writing fails."""
        path = self.path / name
        draft = path.with_name(f".{name}.{os.getpid()}.new")
        try:
            with draft.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as cause:
            raise UserError(f"{path}: cannot be written: {cause.strerror}") from cause
        finally:
            draft.unlink(missing_ok=True)


def refuse_foreign(folder: Path, kind: str, mark: str, *, own: bool) -> None:
    """Raise UserError, which names `--out`, if a folder contains files of another kind; hidden files do not count.

    Args:
        folder: A folder to write to, which need not exist.
        kind: The expected content of the folder, such as a run.
        mark: The file or folder whose presence identifies a folder of this kind.
        own: True if the folder contains `mark`.
    """
    if own or not folder.is_dir():
        return
    found = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    if found:
        raise UserError(
            f"--out {folder}: the folder is not empty and is not the folder of a {kind}: it "
            f"contains {found[0]!r} but no {mark}; choose a new or empty folder"
        )


@contextmanager
def hold(file: Path, out: Path, *, flag: str = "--out", wait: bool = False) -> Iterator[None]:
    """Lock a file, created if missing, against other processes until the context closes or this process ends.

    Raises UserError, which names `flag` and `out`, if the file cannot be written, and InUseError if another process has
    locked it and `wait` is False.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as cause:
        raise UserError(f"{flag} {out}: cannot be written: {cause.strerror}".lstrip()) from cause
    try:
        _lock(handle, file.parent, wait=wait)
    except BlockingIOError as cause:
        raise InUseError(f"{out} is in use by another colbench process") from cause
    else:
        yield
    finally:
        os.close(handle)


def _lock(handle: int, place: Path, *, wait: bool) -> None:
    """Lock an open file. Raises BlockingIOError if another process has locked it and `wait` is False."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            raise
        logging.getLogger(__name__).info("waiting for another process that uses %s", place)
        fcntl.flock(handle, fcntl.LOCK_EX)


class LineWriter:
    """A writer that appends complete lines to a file, after removing the incomplete line of a killed process.

    If the file is deleted or replaced while it is open, the lines are rescued into a new file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        self._end = _end_of_lines(self._file)
        os.ftruncate(self._file, self._end)

    def write(self, line: bytes) -> None:
        """Write one line, newline included.

        Raises UserError if the line cannot be written, for example because the disk is full; no part of the line stays.
        Raises UserError if the file was deleted or replaced; the message names a new file with this line and all
        earlier lines.
        """
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(self._file, line[written:], self._end + written)
        except OSError as cause:
            os.ftruncate(self._file, self._end)
            raise UserError(
                f"{self.path}: cannot be written: {cause.strerror}; the lines written so far are kept; if the disk is "
                "full, free some space; then try again"
            ) from cause
        self._end += len(line)
        if not self._is_in_place():
            raise UserError(
                f"{self.path} was deleted or replaced during the run; its lines were saved to "
                f"{self._rescue()}"
            )

    def _is_in_place(self) -> bool:
        """Return True if the open file is still the one at `path`."""
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except OSError:
            return False

    def _rescue(self) -> Path:
        """Copy the file's lines into a new file in the nearest existing folder, and return the new file's path."""
        place = next(each for each in self.path.absolute().parents if each.is_dir())
        handle, name = tempfile.mkstemp(
            prefix=f"{self.path.parent.name}-", suffix=".rescued.jsonl", dir=place
        )
        with os.fdopen(handle, "wb") as rescued, os.fdopen(os.dup(self._file), "rb") as lines:
            lines.seek(0)
            shutil.copyfileobj(lines, rescued)
        return Path(name)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class RolloutWriter(LineWriter):
    """A writer that appends rollouts to a file."""

    def append(self, rollout: Rollout) -> None:
        """Write one rollout; see `write`."""
        self.write(encode_rollout(rollout))


def _end_of_lines(file: int, block: int = 1 << 16) -> int:
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - block)
        newline = os.pread(file, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _read_record(content: bytes) -> RunRecord:
    values = msgspec.json.decode(content)
    if isinstance(values, dict) and values.get("schema") == EARLIER:
        browser = values.pop("browser", "")
        values |= {"schema": SCHEMA, "environments": {FRONTEND: browser} if browser else {}}
    return msgspec.convert(values, RunRecord)


def _refusal(path: Path, earlier: RunRecord, record: RunRecord) -> str:
    said = f"{path} contains a run with a different configuration; use another --out, or undo these changes:"
    return "\n  ".join([said, *changed_pins(earlier.pins, record.pins)])
