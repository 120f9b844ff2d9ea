"""The signatures of a store's receipts, and of the heads of its log. The heads cover every record.

    STORE/signers                                        the keepers' public keys
    STORE/heads/N.txt                                    see `heads`
    STORE/entries/DIGEST/verified/RECEIPT/receipt.json.sig

A store without `signers` is unsigned, but otherwise works in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle.files import KIB
from colbench_leaderboard.store.entries import read_named
from colbench_leaderboard.store.heads import (
    Head,
    head_of,
    read_heads,
    require_head,
    require_signed,
)
from colbench_leaderboard.store.layout import (
    HEADS,
    RECEIPT_SIGNATURE,
    SIGNERS,
    Record,
    verified_folder,
)
from colbench_leaderboard.store.log import Log, time_now, writing
from colbench_leaderboard.store.plain import read_plain
from colbench_leaderboard.store.signing import Keepers, Namespace, sign
from colbench_leaderboard.verify.receipt import RECEIPT

PROBE = b"A test of a key, which decides nothing.\n"


class Signatures(Struct, frozen=True, kw_only=True):
    """The result of checking the signatures in a store."""

    records: int
    """Number of records that the last signed head covers; 0 if the store has no signed head or a head has a fault."""
    keepers: tuple[str, ...]
    """Keepers who signed heads, in the order of their first signature."""
    faults: tuple[str, ...]
    """The faults; each names the file or the records, and says what is wrong."""


def read_keepers(store: Path, trusted: Path | None = None) -> Keepers | None:
    """Return the keepers whose signatures are accepted.

    These are the keepers in the file `trusted` or, if `trusted` is None, in the store's own file. Returns None if the
    store names no keepers and so is unsigned. Raises DataError if the file cannot be read, and UserError if the file
    contains no key or an invalid line.
    """
    path = trusted or store / SIGNERS
    return Keepers(path) if trusted or path.is_symlink() or path.exists() else None


def check_signatures(store: Path, log: Log, keepers: Keepers | None) -> Signatures:
    """Check every signature in a store, and that the signed heads cover the whole log. Return the result."""
    try:
        heads = read_heads(store)
    except UserError as error:
        return Signatures(records=0, keepers=(), faults=(str(error),))
    if keepers is None:
        faults = [f"{store / SIGNERS}: missing, but the log has signed heads"] if heads else []
        return Signatures(records=0, keepers=(), faults=tuple(faults))
    names: list[str] = []
    faults = [*_faults_of_heads(store, log, heads, keepers, names)]
    signed = heads[-1].records if heads and not faults else 0
    if signed < len(log.records):
        how = "correct the other faults first" if faults else _how(store)
        faults.append(f"no valid signed head covers the records from {signed + 1} on; {how}")
    faults += _faults_of_receipts(store, log, keepers)
    return Signatures(records=signed, keepers=tuple(dict.fromkeys(names)), faults=tuple(faults))


def sign_store(store: Path, key: Path) -> Head:
    """Sign everything that is unsigned: first receipts, then the head of the log. Return the signed head.

    Raises UserError if the store names no keepers or the key cannot sign. Raises DataError if the key does not belong
    to a keeper, the log has no records, or the store contradicts earlier signatures.
    """
    keepers = _keepers(store, key)
    with writing(store) as writer:
        log = writer.log
        heads = read_heads(store)
        for fault in _faults_of_heads(store, log, heads, keepers, []):
            raise DataError(fault)
        for record, path in _receipts(store, log):
            if not path.exists():
                _sign_receipt(record, path, key, keepers)
        if heads and heads[-1].records == len(log.records):
            require_keeper(store, key)
            return heads[-1]
        head = head_of(log, follows=signed_records(store))
        head = replace(head, signature=sign(head.statement.encode(), key, "colbench-head"))
        require_signed(head, keepers, f"--key {key}")
        (store / HEADS).mkdir(exist_ok=True)
        _write_new(_head_file(store, head), head.text)
        return head


def require_keeper(store: Path, key: Path) -> None:
    """Check that a key can sign a store by making test signatures, which are not stored.

    Raises UserError if the store names no keepers or the key cannot sign, and DataError if the key does not belong to a
    keeper.
    """
    keepers = _keepers(store, key)
    for namespace in get_args(Namespace):
        try:
            keepers.signer(PROBE, sign(PROBE, key, namespace), namespace, time_now())
        except DataError as cause:
            raise DataError(f"--key {key}: {cause}") from cause


def _keepers(store: Path, key: Path) -> Keepers:
    keepers = read_keepers(store)
    if keepers is None:
        raise UserError(
            f"{store / SIGNERS}: the list of the keepers' public keys is missing; create it with "
            f"one line per keeper (maintainer): the name, a space, and the content of {key}.pub"
        )
    return keepers


def signed_records(store: Path) -> int:
    """Return how many records the last signed head covers; 0 if the store has no head. Signatures are not checked."""
    heads = read_heads(store)
    return heads[-1].records if heads else 0


def newest_head(store: Path, log: Log) -> Head:
    """Return the last head saved in the store or, if no head is saved, the head of the log.

    Raises DataError if the log lacks the saved head, or if no head is saved and the log has no records.
    """
    if not (heads := read_heads(store)):
        return head_of(log)
    require_head(log, heads[-1], str(_head_file(store, heads[-1])))
    return heads[-1]


def _faults_of_heads(
    store: Path, log: Log, heads: list[Head], keepers: Keepers, names: list[str]
) -> Iterator[str]:
    """Yield a fault for each head that is unsigned, missing or not in the log; add the signers to `names`."""
    before = 0
    for head in heads:
        name = str(_head_file(store, head))
        try:
            require_head(log, head, name)
            names.append(require_signed(head, keepers, name))
        except DataError as error:
            yield str(error)
        if head.follows > before:
            yield f"{store / HEADS / f'{head.follows}.txt'}: missing, but {name} follows it"
        elif head.follows < before:
            yield f"{name}: follows head {head.follows}, but head {before} exists"
        before = head.records


def _faults_of_receipts(store: Path, log: Log, keepers: Keepers) -> Iterator[str]:
    """Yield a fault for each receipt whose signature is missing or not valid."""
    for record, path in _receipts(store, log):
        try:
            signature = read_plain(path, 16 * KIB).decode("ascii", "replace")
            _require_signed_receipt(record, path, signature, keepers)
        except DataError as error:
            yield f"{error}" if path.exists() else f"{path}: missing; {_how(store)}"


def _receipts(store: Path, log: Log) -> Iterator[tuple[Record, Path]]:
    """Yield, for each receipt, the first record that names the receipt, and the path of the receipt's signature."""
    seen = set()
    for record in log.records:
        if record.receipt and (record.bundle, record.receipt) not in seen:
            seen.add((record.bundle, record.receipt))
            folder = verified_folder(store, record.bundle, record.receipt)
            yield record, folder / RECEIPT_SIGNATURE


def _sign_receipt(record: Record, path: Path, key: Path, keepers: Keepers) -> None:
    signature = sign(read_named(path.with_name(RECEIPT), record.receipt), key, "colbench-receipt")
    _require_signed_receipt(record, path, signature, keepers, f"--key {key}")
    _write_new(path, signature)


def _require_signed_receipt(
    record: Record, path: Path, signature: str, keepers: Keepers, name: str = ""
) -> None:
    content = read_named(path.with_name(RECEIPT), record.receipt)
    try:
        keepers.signer(content, signature, "colbench-receipt", record.time)
    except DataError as cause:
        raise DataError(f"{name or path}: {cause}") from cause


def _write_new(path: Path, text: str) -> None:
    """Write a file completely or not at all. The caller ensures that the file does not exist yet."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, "ascii")
    part.rename(path)


def _head_file(store: Path, head: Head) -> Path:
    return store / HEADS / f"{head.records}.txt"


def _how(store: Path) -> str:
    return f"sign with `colbench leaderboard sign {store} --key KEY`"
