"""What a store holds of an entry, each file checked against the hash by which the log, or the receipt, names it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from colbench.errors import DataError
from colbench_leaderboard.archive import Bundle, read_bundle
from colbench_leaderboard.bundle import sha256
from colbench_leaderboard.receipt import RECEIPT, SCORES, SUMMARY, CellScore, Receipt, Summary
from colbench_leaderboard.refused import Refused
from colbench_leaderboard.store import Record, bundle_folder, verified_folder

Kind = TypeVar("Kind", Receipt, Summary)


def kept_bundle(store: Path, bundle: str) -> Bundle:
    """The bundle that an entry has in the store. Raises DataError that names its folder where it is damaged."""
    folder = bundle_folder(store, bundle)
    try:
        return read_bundle(folder)
    except Refused as damaged:
        raise DataError(f"{folder}: {damaged}") from damaged


def read_receipt(store: Path, record: Record) -> Receipt:
    """The receipt that a record names. Raises DataError where it is missing, or not that one."""
    path = verified_folder(store, record.bundle, record.receipt) / RECEIPT
    receipt = parse(named(path, record.receipt), Receipt, path)
    if receipt.bundle != record.bundle:
        raise DataError(f"{path}: is about the bundle {receipt.bundle}")
    return receipt


def read_summary(store: Path, record: Record, receipt: Receipt) -> Summary:
    """The summary that a receipt names. Raises DataError where it is missing, or not that one."""
    path = verified_folder(store, record.bundle, record.receipt) / SUMMARY
    return parse(named(path, receipt.summary), Summary, path)


def read_scores(store: Path, record: Record, receipt: Receipt) -> list[CellScore]:
    """The scores that a receipt names, by task and trial. Raises DataError where they are missing, or not those."""
    path = verified_folder(store, record.bundle, record.receipt) / SCORES
    return parse_scores(named(path, receipt.scores), path)


def named(path: Path, digest: str) -> bytes:
    """The content of a file that has this SHA-256. Raises DataError where it has not, or is not there."""
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise DataError(f"{path}: cannot be read: {cause.strerror}") from cause
    if (found := sha256(content)) != digest:
        raise DataError(f"{path}: its SHA-256 is {found}, but it is named as {digest}")
    return content


def parse(content: bytes, kind: type[Kind], path: Path) -> Kind:
    """The value in a file. Raises DataError that names it."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise DataError(f"{path}: {cause}") from cause


def parse_scores(content: bytes, path: Path) -> list[CellScore]:
    """The scores in a file. Raises DataError that names file and line."""
    decoder = msgspec.json.Decoder(CellScore)
    scores = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            scores.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as cause:
            raise DataError(f"{path}, line {number}: {cause}") from cause
    return scores
