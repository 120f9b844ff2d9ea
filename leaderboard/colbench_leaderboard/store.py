"""The store: bundles, what was found of them, and an append-only, hash-chained log of decisions.

    STORE/log.jsonl                  `Record`, canonical JSON, a line each
    STORE/entries/DIGEST/bundle/     as it came
    STORE/entries/DIGEST/verified/   as `receipt` describes

Everything that is shown is built from the log and from what it names by hash; what the log does not name is not there.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LOG, ENTRIES, BUNDLE, VERIFIED = "log.jsonl", "entries", "bundle", "verified"
FIRST = "0" * 64
Decision = Literal["accepted", "refused", "removed", "rescored"]


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision; `previous` is the SHA-256 of the line before without its line break, `FIRST` on the first line."""

    number: int
    """From 1, without a gap."""
    previous: str
    time: str
    """UTC, ISO 8601, to the second; when it was decided, by whoever keeps the store."""
    decision: Decision
    bundle: str
    """The digest."""
    receipt: str = ""
    """SHA-256 of receipt.json, for accepted, refused and rescored."""
    reason: str = ""
    """For refused and removed: in words."""
