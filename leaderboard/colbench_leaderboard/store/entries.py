"""Reading the files of an entry in a store.

Each file is checked against the hash in the log or in the entry's receipt.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from colbench.errors import DataError
from colbench_leaderboard.bundle.encoding import sha256
from colbench_leaderboard.bundle.read import Bundle, read_bundle
from colbench_leaderboard.bundle.refused import Refused, shown
from colbench_leaderboard.store.layout import Record, bundle_folder, verified_folder
from colbench_leaderboard.store.plain import read_plain
from colbench_leaderboard.verify.receipt import (
    RECEIPT,
    SCHEMA,
    SCORES,
    SUMMARY,
    CellScore,
    Receipt,
    Summary,
)


class _Versioned(Struct, frozen=True):
    """The part of a receipt that names its format."""

    schema: str


Kind = TypeVar("Kind", _Versioned, Receipt, Summary)


def read_kept_bundle(store: Path, bundle: str) -> Bundle:
    """Open an entry's bundle in the store. The caller must compare its digest with `bundle`, the entry's digest.

    Raises DataError, which names the folder or a file in it, if the bundle is damaged, missing or unreadable.
    """
    folder = bundle_folder(store, bundle)
    try:
        return read_bundle(folder)
    except Refused as damaged:
        raise DataError(f"{folder}: {damaged}") from damaged


def read_receipt(store: Path, record: Record) -> Receipt:
    """Return the receipt that a record names.

    Raises DataError if the receipt is missing, does not match its hash, belongs to another bundle, or has another
    format.
    """
    path = verified_folder(store, record.bundle, record.receipt) / RECEIPT
    receipt = parse_receipt(read_named(path, record.receipt), path)
    if receipt.bundle != record.bundle:
        raise DataError(
            f"{path}: belongs to bundle {receipt.bundle}, but is stored with bundle {record.bundle}"
        )
    return receipt


def read_summary(store: Path, record: Record, receipt: Receipt) -> Summary:
    """Return the summary that a receipt names.

    Raises DataError if the summary is missing, does not match its hash, or is not valid.
    """
    path = verified_folder(store, record.bundle, record.receipt) / SUMMARY
    return parse(read_named(path, receipt.summary), Summary, path)


def read_scores(store: Path, record: Record, receipt: Receipt) -> list[CellScore]:
    """Return the scores that a receipt names, by task and trial.

    Raises DataError if the scores are missing, do not match their hash, or are not valid.
    """
    path = verified_folder(store, record.bundle, record.receipt) / SCORES
    return parse_scores(read_named(path, receipt.scores), path)


def read_named(path: Path, digest: str) -> bytes:
    """Return the content of a file with this SHA-256. Raises DataError if the file is missing or has another hash."""
    content = read_plain(path)
    if (found := sha256(content)) != digest:
        raise DataError(f"{path}: its SHA-256 is {found}, but should be {digest}")
    return content


def parse(content: bytes, kind: type[Kind], path: Path) -> Kind:
    """Parse the content of a file as `kind`. Raises DataError, which names the file, if the content is not valid."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise DataError(f"{path}: {cause}") from cause


def parse_receipt(content: bytes, path: Path) -> Receipt:
    """Parse a receipt. Raises DataError, which names the file, if it is not valid or was written in another format."""
    schema = parse(content, _Versioned, path).schema
    if schema != SCHEMA:
        raise DataError(
            f"{path}: `schema` is {shown(schema)}, expected {SCHEMA}; verify the bundle again with this version of "
            "ColBench"
        )
    return parse(content, Receipt, path)


def parse_scores(content: bytes, path: Path) -> list[CellScore]:
    """Parse the lines of a file of scores. Raises DataError, which names file and line, if a line is not valid."""
    decoder = msgspec.json.Decoder(CellScore)
    scores = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            scores.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
            raise DataError(f"{path}, line {number}: {cause}") from cause
    return scores
