"""Symbolic links, which a store must not contain: through one, files elsewhere could be read, written, or deleted."""

from __future__ import annotations

import pytest

from colbench.errors import DataError
from colbench_leaderboard.store.audit import audit
from colbench_leaderboard.store.decisions import accept, remove
from colbench_leaderboard.store.layout import ENTRIES, bundle_folder, entry_folder, verified_folder
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES


def replace_with_link(path, elsewhere):
    """Move a file or folder elsewhere, and leave a link to it."""
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


PLACES = {
    "entries": lambda store, record: store / ENTRIES,
    "the entry": lambda store, record: entry_folder(store, record.bundle),
    "its bundle": lambda store, record: bundle_folder(store, record.bundle),
    "its receipts": lambda store, record: entry_folder(store, record.bundle) / "verified",
    "a receipt's folder": lambda store, record: verified_folder(
        store, record.bundle, record.receipt
    ),
    "a receipt": lambda store, record: (
        verified_folder(store, record.bundle, record.receipt) / RECEIPT
    ),
    "scores": lambda store, record: verified_folder(store, record.bundle, record.receipt) / SCORES,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_a_store_is_a_fault_even_if_its_target_is_correct(
    store, entrant, tmp_path, place
):
    one = entrant()
    record = accept(store, one.bundle, one.verified)
    assert audit(store).faults == ()
    replace_with_link(PLACES[place](store, record), tmp_path / "elsewhere")
    faults = audit(store).faults
    assert any("a symbolic link" in fault for fault in faults), faults


@pytest.mark.parametrize("place", ["entries", "the entry", "its receipts"])
def test_accepting_writes_no_file_through_a_link(store, entrant, tmp_path, place):
    one = entrant()
    outside = tmp_path / "outside"
    outside.mkdir()
    entry = store / ENTRIES / one.digest
    link = {"entries": store / ENTRIES, "the entry": entry, "its receipts": entry / "verified"}
    if place == "entries":
        (store / ENTRIES / ".gitkeep").unlink()
        (store / ENTRIES).rmdir()
    link[place].parent.mkdir(parents=True, exist_ok=True)
    link[place].symlink_to(outside)
    with pytest.raises(DataError, match="a symbolic link"):
        accept(store, one.bundle, one.verified)
    assert list(outside.iterdir()) == []


def test_removing_deletes_no_file_through_a_link(store, entrant, tmp_path):
    one = entrant()
    record = accept(store, one.bundle, one.verified)
    replace_with_link(entry_folder(store, record.bundle), tmp_path / "elsewhere")
    with pytest.raises(DataError, match="a symbolic link"):
        remove(store, one.digest, "asked for", delete=True)
    assert (tmp_path / "elsewhere" / "bundle" / "submission.json").is_file()
