"""N candidate replies for each turn, sampled without the privileged information c and kept on disk.

    FILE        JSONL; a line for each turn's candidates, in the order of completion

The key of a line is a hash of everything that its candidates depend on: the context, and the sampler with its seed and
N. So an interrupted run continues where it stopped, and turns with the same context (the first turns of a task's
dialogues) share their candidates. Candidates are read from the file on access. `server` samples from any
OpenAI-compatible server, `local` from a model in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.config import digest
from colbench.errors import DataError, UserError
from colbench.run_folder import LineWriter, hold
from sweet_rl_trainer.methods.ranking.lines import line_at, places
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn


class Sampler(Struct, frozen=True, kw_only=True):
    """The model and the settings with which replies are sampled. The defaults are the paper's settings."""

    model: str
    """Identity of the model's weights: `model.digest.model_digest`, or the model's name on the server."""
    count: int = 16
    """Number N of candidates for each turn."""
    temperature: float = 1.0
    max_tokens: int = 1024
    """Maximum number of new tokens of a reply."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 2:
            raise UserError(f"count {self.count}: expected at least 2 candidates for each turn")
        if self.max_tokens < 1:
            raise UserError(f"max_tokens {self.max_tokens}: must be at least 1")
        if self.temperature <= 0:
            raise UserError(f"temperature {self.temperature:g}: must be above 0")

    def key(self, context: object) -> str:
        """Return the key under which the candidates that follow a context are stored."""
        return digest({"context": context, "sampler": msgspec.to_builtins(self)})


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the candidate file."""

    key: str
    replies: tuple[Reply, ...]
    prompt: tuple[int, ...] = ()

    def of(self, turn: Turn) -> Candidates:
        """Return a copy of these candidates for another turn, which must have the same context."""
        return Candidates(turn=turn, replies=self.replies, prompt=self.prompt)


class CandidateFile:
    """The file of candidates sampled so far. Raises DataError, which names the file and line, if a line is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts = dict(_index(path))
        """The position of each key's line."""
        self._lines: LineWriter | None = None

    def __contains__(self, key: str) -> bool:
        return key in self._starts

    def __getitem__(self, key: str) -> Record:
        return _decode(line_at(self.path, self._starts[key]))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the file for this writer.

        Raises UserError if another process writes the file, if it cannot be written, or if a line is damaged.
        """
        with hold(self.path.with_suffix(".lock"), self.path):
            self._starts |= dict(_index(self.path))
            self._lines = LineWriter(self.path)
            try:
                yield
            finally:
                self._lines.close()
                self._lines = None

    def add(self, record: Record) -> None:
        """Store the candidates of one more turn."""
        if self._lines is None:
            raise RuntimeError("candidates must be added inside `with file.writing()`")
        start = self.path.stat().st_size
        self._lines.write(msgspec.json.encode(record) + b"\n")
        self._starts[record.key] = start

    def collect(self, turns: Iterable[Turn], keys: Iterable[str]) -> Found:
        """Return the candidates of the given turns; leave out turns without candidates.

        `keys` has the key of each turn.
        """
        pairs = zip(turns, keys, strict=True)
        return Found(self, [(turn, key) for turn, key in pairs if key in self])


class Found:
    """The candidates of some turns, in order; each turn's candidates are read from the file when they are accessed."""

    def __init__(self, file: CandidateFile, turns: list[tuple[Turn, str]]) -> None:
        self._file = file
        self._turns = turns

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[Candidates]:
        for turn, key in self._turns:
            yield self._file[key].of(turn)


def _index(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each key and the position of its line.

    Raises DataError, which names the file and line, if a line is damaged.
    """
    for number, (start, line) in enumerate(places(path), 1):
        try:
            yield _decode(line).key, start
        except msgspec.DecodeError as cause:
            raise DataError(
                f"{path}:{number}: {cause}; remove the line to sample its candidates again"
            ) from cause


def _decode(line: bytes) -> Record:
    record: Record = msgspec.json.decode(line, type=Record)
    return record
