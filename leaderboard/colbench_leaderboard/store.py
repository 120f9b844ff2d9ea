"""The store: bundles, what was found of them, and an append-only, hash-chained log of decisions.

    STORE/log.jsonl                          `Record`, canonical JSON, a line each
    STORE/entries/DIGEST/bundle/             as it came, unpacked
    STORE/entries/DIGEST/verified/RECEIPT/   as `receipt` describes; RECEIPT is the SHA-256 of its receipt.json

Everything that is shown is built from the log and from what it names by hash; what the log does not name is not there.
No file of an entry is ever written again: a rescored entry has one more folder in `verified/`, and the earlier stay.
A refused entry has no `bundle/`, and a removed one has none if its record says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from colbench_leaderboard.bundle import Digest, Text

LOG, ENTRIES, BUNDLE, VERIFIED = "log.jsonl", "entries", "bundle", "verified"
FIRST = "0" * 64
ADDRESS = 12
"""Digits of a digest by which the site names an entry; no two accepted bundles share them."""
Decision = Literal["accepted", "refused", "removed", "rescored"]


DigestOrNone = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A decision; `previous` is the SHA-256 of the line before without its line break, `FIRST` on the first line."""

    number: int
    """From 1, without a gap."""
    previous: Digest
    time: Time
    """UTC, ISO 8601, to the second; when it was decided, by whoever keeps the store."""
    decision: Decision
    bundle: Digest
    receipt: DigestOrNone = ""
    """SHA-256 of receipt.json, for accepted, refused and rescored."""
    reason: Text = ""
    """For refused, removed and rescored: in words."""
    reference_line: bool = False
    """For accepted: shown on the board as a line to compare with, such as `blank`, and not ranked."""
    reruns: DigestOrNone = ""
    """For accepted: the entry whose system the maintainers ran for this one. It is not ranked, and where its results
    agree that entry is T3."""
    deleted: bool = False
    """For removed: the bundle's files are gone too."""


def entry_folder(store: Path, bundle: str) -> Path:
    """Where an entry is."""
    return store / ENTRIES / bundle


def bundle_folder(store: Path, bundle: str) -> Path:
    """Where an entry's bundle is."""
    return entry_folder(store, bundle) / BUNDLE


def verified_folder(store: Path, bundle: str, receipt: str) -> Path:
    """Where the receipt of an entry with this hash is, and what it names."""
    return entry_folder(store, bundle) / VERIFIED / receipt
