"""The layout of a store: bundles, their receipts, and an append-only, hash-chained log of decisions.

    STORE/log.jsonl                          `Record`: canonical JSON, one per line
    STORE/entries/DIGEST/bundle/             the bundle as submitted, unpacked
    STORE/entries/DIGEST/verified/RECEIPT/   the files of `verify.receipt`; RECEIPT is the SHA-256 of its receipt.json
    STORE/signers, STORE/heads/              only if the keepers sign: see `signatures`

The site is built from the log and from the files that the log names by hash; apart from `.gitkeep`, `entries/` contains
only these files. Files of entries are never rewritten: a rescored entry gets another folder in `verified/`, and the
earlier folders stay. `bundle/` is missing for refused entries, and for removed entries whose record has `deleted`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from colbench_leaderboard.bundle.schema import Digest, Text
from colbench_leaderboard.store.plain import require_no_links

LOG, ENTRIES, BUNDLE, VERIFIED = "log.jsonl", "entries", "bundle", "verified"
LOCK = ".lock"
SIGNERS, HEADS, RECEIPT_SIGNATURE = "signers", "heads", "receipt.json.sig"
FIRST = "0" * 64
ADDRESS = 12
"""Number of leading digits of a digest that identify an entry on the site; they are unique among accepted bundles."""
Decision = Literal["accepted", "refused", "removed", "rescored", "kept"]
STANDING: tuple[Decision, ...] = ("accepted", "rescored", "kept")
"""Decisions after which a bundle is on a board. The last record of such a bundle names its current receipt."""


DigestOrNone = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A decision about a bundle."""

    number: int
    """Number of the record, from 1 without gaps."""
    previous: Digest
    """SHA-256 of the previous line without its line break; `FIRST` on the first line."""
    time: Time
    """Time of the decision by the maintainer's clock (or `SOURCE_DATE_EPOCH`): UTC, ISO 8601, to the second."""
    decision: Decision
    bundle: Digest
    receipt: DigestOrNone = ""
    """SHA-256 of receipt.json; "" if the decision is `removed`."""
    reason: Text = ""
    """Reason for the decision; "" if the decision is `accepted`."""
    reference_line: bool = False
    """For accepted entries: True if the entry is shown unranked, as a reference line such as `blank`."""
    reruns: DigestOrNone = ""
    """For an accepted rerun: the digest of the entry whose system the maintainers ran again.

    "" in all other records. The rerun is not ranked. If the results of all reruns of an entry agree with the entry's
    results, the entry has verification level V3.
    """
    deleted: bool = False
    """For removed entries: True if the bundle's files were deleted."""


def entry_folder(store: Path, bundle: str) -> Path:
    """Return the folder of an entry. Raises DataError if the folder's path contains a symbolic link."""
    return _unlinked(store, store / ENTRIES / bundle)


def bundle_folder(store: Path, bundle: str) -> Path:
    """Return the folder of an entry's bundle. Raises the same errors as `entry_folder`."""
    return _unlinked(store, store / ENTRIES / bundle / BUNDLE)


def verified_folder(store: Path, bundle: str, receipt: str) -> Path:
    """Return the folder with one receipt of an entry and its scores. Raises the same errors as `entry_folder`.

    `bundle` is the digest of the entry's bundle, and `receipt` the SHA-256 of its receipt.
    """
    return _unlinked(store, store / ENTRIES / bundle / VERIFIED / receipt)


def _unlinked(store: Path, folder: Path) -> Path:
    require_no_links(store, folder)
    return folder
