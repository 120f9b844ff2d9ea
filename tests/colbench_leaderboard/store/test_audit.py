from __future__ import annotations

import json
import shutil

import pytest

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle.encoding import canonical, sha256
from colbench_leaderboard.store.audit import audit
from colbench_leaderboard.store.decisions import accept, refuse, remove, rescore
from colbench_leaderboard.store.layout import (
    ENTRIES,
    LOG,
    bundle_folder,
    entry_folder,
    verified_folder,
)
from colbench_leaderboard.store.log import writing
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY


@pytest.fixture
def used_store(store, entrant):
    """Return a store with decisions of four kinds, its current entry, and that entry's last record."""
    one, other, third = entrant("one"), entrant("other"), entrant("third")
    accept(store, one.bundle, one.verified)
    accept(store, other.bundle, other.verified)
    refuse(store, third.bundle, third.verified, "copied")
    remove(store, other.digest, "asked for", delete=True)
    one.verify([[1.0], [1.0]])
    return store, one, rescore(store, one.digest, one.verified, "new rules")


def test_an_unchanged_store_has_no_faults(used_store):
    store, *_ = used_store
    found = audit(store)
    assert (found.records, found.standing, found.verified, found.faults) == (5, 1, 0, ())
    assert audit(store, head=found.head) == found
    assert found.head == sha256((store / LOG).read_bytes().splitlines()[-1])


def test_an_empty_store_has_no_faults(store):
    assert audit(store).faults == ()


def changed_bundle(store, one, record):
    path = bundle_folder(store, one.digest) / "submission.json"
    path.write_bytes(path.read_bytes().replace(b"Institute", b"Instltute"))
    return rf"{one.digest}/bundle: submission\.json.*manifest\.digest"


def another_manifest(store, one, record):
    path = bundle_folder(store, one.digest)
    (path / "submission.json").write_bytes(
        (path / "submission.json").read_bytes().replace(b"Institute", b"Instltute")
    )
    manifest = path / "MANIFEST.sha256"
    others = [line for line in manifest.read_text().splitlines() if "submission" not in line]
    digest = sha256((path / "submission.json").read_bytes())
    lines = sorted([*others, f"{digest}  submission.json"], key=lambda line: line.split()[1])
    manifest.write_text("".join(f"{line}\n" for line in lines))
    return r"expected a manifest with SHA-256"


def missing_bundle(store, one, record):
    shutil.rmtree(bundle_folder(store, one.digest))
    return rf"bundle: missing, but record {record.number} names this bundle"


def changed(name):
    def attack(store, one, record):
        path = verified_folder(store, one.digest, record.receipt) / name
        path.write_bytes(path.read_bytes().replace(b"1", b"0"))
        return rf"{name}: its SHA-256 is \w+, but should be"

    return attack


def missing_receipt(store, one, record):
    shutil.rmtree(verified_folder(store, one.digest, record.receipt))
    return rf"{RECEIPT}: cannot be read"


def missing_earlier_receipt(store, one, record):
    folder = verified_folder(store, one.digest, record.receipt).parent
    shutil.rmtree(next(path for path in folder.iterdir() if path.name != record.receipt))
    return rf"{RECEIPT}: cannot be read"


def unknown_entry(store, one, record):
    (store / ENTRIES / ("f" * 64)).mkdir()
    return rf"{'f' * 64}: not named by the log"


def unknown_file_next_to_the_bundle(store, one, record):
    (entry_folder(store, one.digest) / "notes.txt").touch()
    return r"notes\.txt: not named by the log"


def unknown_file_in_the_bundle(store, one, record):
    (bundle_folder(store, one.digest) / "scores.json").touch()
    return r"archive\.name"


def unknown_receipt(store, one, record):
    (verified_folder(store, one.digest, record.receipt).parent / "0").mkdir()
    return r"verified/0: not named by the log"


def linked_bundle(store, one, record):
    folder = bundle_folder(store, one.digest)
    folder.rename(store / "elsewhere")
    folder.symlink_to(store / "elsewhere")
    return r"bundle: a symbolic link"


def refused_bundle_kept(store, one, record):
    refused = next(r.bundle for r in audit_records(store) if r.decision == "refused")
    shutil.copytree(bundle_folder(store, one.digest), bundle_folder(store, refused))
    return r"bundle: not named by the log"


def deleted_bundle_kept(store, one, record):
    removed = next(r.bundle for r in audit_records(store) if r.decision == "removed")
    shutil.copytree(bundle_folder(store, one.digest), bundle_folder(store, removed))
    return r"marks it as deleted"


def torn_log(store, one, record):
    with (store / LOG).open("ab") as log:
        log.write(b"{")
    return r"last line has no line break"


def audit_records(store):
    from colbench_leaderboard.store.log import read_log

    return read_log(store).records


ATTACKS = [
    changed_bundle,
    another_manifest,
    missing_bundle,
    changed(RECEIPT),
    changed(SUMMARY),
    changed(SCORES),
    missing_receipt,
    missing_earlier_receipt,
    unknown_entry,
    unknown_file_next_to_the_bundle,
    unknown_file_in_the_bundle,
    unknown_receipt,
    linked_bundle,
    refused_bundle_kept,
    deleted_bundle_kept,
    torn_log,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_change_to_a_store_is_reported_as_a_fault(used_store, attack):
    import re

    store, one, record = used_store
    expected = attack(store, one, record)
    assert [fault for fault in audit(store).faults if re.search(expected, fault)]


def test_auditing_a_rewritten_log_raises_an_error(used_store):
    store, *_ = used_store
    path = store / LOG
    path.write_bytes(path.read_bytes().replace(b"copied", b"sorry!"))
    with pytest.raises(DataError, match="line 4: .*changed, moved or removed"):
        audit(store)


def append_forged(store, one, verified):
    """Write a receipt and a record with the right hashes, as a forger with access to the store could."""
    digest = sha256((verified / RECEIPT).read_bytes())
    shutil.copytree(verified, verified_folder(store, one.digest, digest))
    with writing(store) as log:
        log.append("rescored", one.digest, receipt=digest, reason="better")


def test_a_summary_that_contradicts_its_scores_is_a_fault(used_store):
    store, one, _ = used_store
    summary = json.loads((one.verified / SUMMARY).read_bytes())
    summary["turns"]["mean"] = 1.0
    (one.verified / SUMMARY).write_bytes(canonical(summary))
    receipt = json.loads((one.verified / RECEIPT).read_bytes())
    receipt["summary"] = sha256(canonical(summary))
    (one.verified / RECEIPT).write_bytes(canonical(receipt))
    append_forged(store, one, one.verified)
    (fault,) = audit(store).faults
    assert "summary.json: turns is" in fault


def test_an_accepted_entry_with_a_refusing_receipt_is_a_fault(used_store):
    store, one, _ = used_store
    one.verify([[1.0], [1.0]], level=None)
    append_forged(store, one, one.verified)
    assert any(
        "refuses the bundle, but the decision of record 6 is `rescored`" in fault
        for fault in audit(store).faults
    )


def test_verifying_again_compares_every_byte(used_store):
    store, one, _ = used_store

    def honest(bundle, against, carried, out):
        assert bundle == bundle_folder(store, one.digest)
        shutil.copytree(one.verified, out, dirs_exist_ok=True)

    assert audit(store, verifier=honest).verified == 1
    one.verify([[1.0], [0.0]])
    found = audit(store, verifier=honest)
    assert found.verified == 0
    assert "scores.jsonl: verifying the bundle again gives a different file" in found.faults[0]


def test_a_bundle_that_can_no_longer_be_verified_is_a_fault(used_store):
    store, *_ = used_store

    def damaged(bundle, against, carried, out):
        raise DataError(f"{bundle}: damaged")

    assert audit(store, verifier=damaged).faults == (
        f"{bundle_folder(store, used_store[1].digest)}: damaged",
    )


def test_an_audit_that_this_machine_cannot_do_finds_no_faults_but_fails(used_store):
    def unable(bundle, against, carried, out):
        raise UserError("--tasks: name your own")

    with pytest.raises(UserError, match="name your own"):
        audit(used_store[0], verifier=unable)
