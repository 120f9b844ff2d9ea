"""A cache on disk for a model's values of token sequences, such as the reference model's log-probabilities.

Training needs one number per trajectory from the reference model: Σ w log π_ref. Ranking also needs such numbers from
critics: Σ w log π_θ or, from a value model, Σ w v. A number is looked up by everything that it depends on: the model's
files (MODEL, a digest), the arithmetic (PRECISION, see `arithmetic`), and a hash of the token IDs, the token weights
and the digests of pictures (`content_key`). Texts, tokenizers and file names do not matter, so any run with the same
inputs finds the number.

    FOLDER/MODEL-PRECISION/0.jsonl      a line for each value; one file for each process that writes

Lines are only appended. A killed process leaves at most an incomplete line, which the next writer removes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import torch
from msgspec import Struct
from torch import Tensor

from colbench.errors import DataError, UserError
from colbench.run_folder import LineWriter, hold
from sweet_rl_trainer.console import progress
from sweet_rl_trainer.model.attention import implementation
from sweet_rl_trainer.model.packing import (
    Group,
    Parts,
    Row,
    lay_out,
    pack,
    packed_length,
    row_budget,
)
from sweet_rl_trainer.settings import LoraSettings, TrainSettings

Kind = Literal["sum", "value"]
"""Kind of value: Σ w log π ("sum"), or Σ w v of a value model ("value")."""
NAMES: dict[Kind, str] = {"sum": "log-probabilities", "value": "values"}
"""The name of the summed quantity, for the console and messages."""


def content_key(parts: Parts, kind: Kind) -> str:
    """Return the key of a value in the cache of a model.

    The key is a hash of the kind, the token IDs, the token weights and the pictures.
    """
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        weights = np.asarray(part.token_weights, dtype="<f4")
        digest.update(f" {len(weights)} ".encode())
        digest.update(np.asarray(part.ids, dtype="<i4").tobytes())
        digest.update(weights.tobytes())
        if part.pictures:
            digest.update(" ".join(part.pictures).encode())
    return digest.hexdigest()


def arithmetic(settings: TrainSettings, adapters: LoraSettings | None, config: Any) -> str:
    """Return a name for the arithmetic that a model's values depend on, in addition to its weights.

    The name contains the precision of matrix products and of frozen weights. It also contains the attention
    implementation, unless the implementation is `sdpa`. `config` is the model's configuration.
    """
    kept = (adapters.quantize or "frozen") if adapters else ""
    attention = implementation(config)
    parts = (settings.precision, kept, "" if attention == "sdpa" else attention)
    return "-".join(filter(None, parts))


class _Entry(Struct, frozen=True):
    key: str
    values: bytes
    """The value, little-endian float32."""


class ReferenceCache:
    """A cache of the values of one model, all computed with the same `arithmetic`."""

    def __init__(self, folder: Path, *, model: str, precision: str, writer: int = 0) -> None:
        """Open the cache.

        `model` is the model's digest, `precision` is the name from `arithmetic`, and `writer` is the number of this
        process.

        Raises DataError, which names the file and line, if an entry is damaged.
        """
        self._folder = folder / f"{model}-{precision}"
        self._file = self._folder / f"{writer}.jsonl"
        self._values: dict[str, bytes] = {}
        self.reload()

    def reload(self) -> None:
        """Read the values written by other processes."""
        for path in sorted(self._folder.glob("*.jsonl")):
            self._values |= {entry.key: entry.values for entry in _read(path)}

    def get(self, parts: Parts, kind: Kind = "sum") -> Tensor:
        """Return a cached value, [1] in float32. Raises UserError if the cache lacks the value."""
        found = self._values.get(content_key(parts, kind))
        if found is None:
            raise UserError(
                f"{self._folder}: this cache lacks the number that the model gives to a token sequence; "
                "fill the cache first"
            )
        return torch.from_numpy(np.frombuffer(found, "<f4").copy())

    def fill(
        self,
        groups: Sequence[Group],
        logprobs: Callable[[Row], Tensor],
        *,
        kind: Kind = "sum",
        budget: int,
        share: bool = False,
        name: str = "",
    ) -> None:
        """Compute and store the missing values of the groups' trajectories; `name` is shown on the console.

        `logprobs` runs the model over a row, as `loss.row_logprobs` does. A row has at most `budget` tokens;
        a group that is longer or has pictures gets its own row. `share` is as in `packing.lay_out`. Waits while another
        process writes the same file. Raises UserError if a value is not finite, or the disk is full.
        """
        with self._writer() as write:
            self.reload()
            missing = self._missing(groups, kind)
            lengths = [packed_length(group, share=share) for group in missing]
            what = f"{NAMES[kind]} {name}".rstrip()
            with progress(what, sum(map(len, missing))) as advance:
                for numbers in pack(lengths, row_budget(missing, budget), seed=0):
                    chosen = [missing[number] for number in numbers]
                    row = lay_out(chosen, share=share)
                    with torch.inference_mode():
                        values = row.sums(row.token_weights * logprobs(row).cpu())
                    for parts, value in zip(
                        (each for group in chosen for each in group),
                        torch.split(values, 1),
                        strict=True,
                    ):
                        write(_entry(parts, value, kind))
                        advance()

    def _missing(self, groups: Sequence[Group], kind: Kind) -> list[list[Parts]]:
        """Return the trajectories whose values are missing, by group; leave out repetitions and empty groups."""
        seen = set(self._values)
        missing = []
        for group in groups:
            fresh = {content_key(parts, kind): parts for parts in group}
            missing.append([parts for key, parts in fresh.items() if key not in seen])
            seen |= fresh.keys()
        return [group for group in missing if group]

    @contextmanager
    def _writer(self) -> Iterator[Callable[[_Entry], None]]:
        with hold(self._file.with_suffix(".lock"), self._folder, wait=True):
            lines = LineWriter(self._file)

            def write(entry: _Entry) -> None:
                lines.write(msgspec.json.encode(entry) + b"\n")
                self._values[entry.key] = entry.values

            try:
                yield write
            finally:
                lines.close()


def _read(path: Path) -> Iterator[_Entry]:
    decoder = msgspec.json.Decoder(_Entry)
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as cause:
            raise DataError(f"{path}:{number}: {cause}; delete the file to recompute it") from cause


def _entry(parts: Parts, value: Tensor, kind: Kind) -> _Entry:
    if not value.isfinite():
        raise UserError(
            f"the model's {NAMES[kind]} of {sum(len(part.ids) for part in parts)} tokens are not finite; "
            "check its weights, and the precision in which it runs"
        )
    return _Entry(content_key(parts, kind), value.numpy().astype("<f4").tobytes())
