from __future__ import annotations

import json
import resource
import shutil
import tarfile

import pytest

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle.encoding import canonical, sha256
from colbench_leaderboard.store.audit import audit
from colbench_leaderboard.store.decisions import accept, keep, refuse, remove, rescore
from colbench_leaderboard.store.layout import bundle_folder, entry_folder, verified_folder
from colbench_leaderboard.store.log import read_log
from colbench_leaderboard.store.repository import make_store
from colbench_leaderboard.verify.receipt import RECEIPT, SCORES, SUMMARY


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_an_accepted_bundle_is_stored_unchanged_with_its_receipt(store, entrant):
    one = entrant()
    record = accept(store, one.bundle, one.verified)
    assert (record.decision, record.bundle) == ("accepted", one.digest)
    assert files(bundle_folder(store, one.digest)) == files(one.bundle)
    assert files(verified_folder(store, one.digest, record.receipt)) == files(one.verified)
    assert read_log(store).records == (record,)


def test_an_archive_is_unpacked(store, entrant, tmp_path):
    one = entrant()
    with tarfile.open(tmp_path / "one.tar.gz", "w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name in files(one.bundle):
            archive.add(one.bundle / name, name)
    accept(store, tmp_path / "one.tar.gz", one.verified)
    assert files(bundle_folder(store, one.digest)) == files(one.bundle)


def test_a_bundle_that_a_merge_added_to_the_store_is_accepted_in_place(store, entrant):
    one = entrant()
    there = bundle_folder(store, one.digest)
    shutil.copytree(one.bundle, there)
    accept(store, there, one.verified)
    assert files(there) == files(one.bundle)


def test_a_bundle_is_accepted_only_once(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    with pytest.raises(UserError, match=r"was accepted \(record 1\)"):
        accept(store, one.bundle, one.verified)
    assert len(read_log(store).records) == 1


LOOKS_LIKE_COPA = "\u0421\u043e\u0440\u0430"
"""A name in Cyrillic letters."""


def test_a_name_similar_to_that_of_a_current_entry_on_the_board_is_not_accepted(store, entrant):
    one, other = entrant("Copa"), entrant(LOOKS_LIKE_COPA)
    accept(store, one.bundle, one.verified)
    with pytest.raises(UserError) as caught:
        accept(store, other.bundle, other.verified)
    assert rf"'\u0421\u043e\u0440\u0430' looks like 'Copa', entry {one.digest[:12]}" in str(
        caught.value
    )
    assert len(read_log(store).records) == 1
    assert not bundle_folder(store, other.digest).exists()
    remove(store, one.digest, "the authors asked")
    accept(store, other.bundle, other.verified)


def test_a_name_may_repeat_on_other_boards_and_for_a_rerun(store, entrant):
    one = entrant("Copa")
    accept(store, one.bundle, one.verified)
    elsewhere = entrant("copa", track="open")
    accept(store, elsewhere.bundle, elsewhere.verified)
    of_other_tasks = entrant("COPA")
    of_other_tasks.verify([[1.0], [0.5]], tasks="ef" * 32)
    accept(store, of_other_tasks.bundle, of_other_tasks.verified)
    again = entrant("Copa!")
    accept(store, again.bundle, again.verified, reruns=one.digest)
    assert len(read_log(store).standing()) == 4


@pytest.mark.parametrize(
    ("of_entry", "of_rerun", "flaw"),
    [
        ({}, {"tasks": "ef" * 32}, "was verified on other tasks"),
        ({"track": "open"}, {}, "is in the track open, but this bundle is in standard"),
        (
            {"track": "open"},
            {"track": "open", "setting": {"max_turns": 50}},
            "has human keyless, 10 turns, but this bundle has human keyless, 50 turns",
        ),
    ],
)
def test_a_rerun_on_another_board_is_not_accepted(store, entrant, of_entry, of_rerun, flaw):
    one, rerun = entrant("one", **of_entry), entrant("rerun", **of_rerun)
    accept(store, one.bundle, one.verified)
    before = files(store)
    with pytest.raises(UserError, match=f"^--reruns: entry {one.digest[:12]} {flaw}"):
        accept(store, rerun.bundle, rerun.verified, reruns=one.digest)
    assert files(store) == before


def test_a_rerun_of_a_removed_entry_is_not_accepted(store, entrant):
    one, rerun = entrant("one"), entrant("rerun")
    accept(store, one.bundle, one.verified)
    remove(store, one.digest, "the authors asked")
    before = files(store)
    with pytest.raises(UserError, match=f"^--reruns: bundle {one.digest} is not a current entry"):
        accept(store, rerun.bundle, rerun.verified, reruns=one.digest)
    assert files(store) == before


def test_a_refused_bundle_is_not_accepted_but_its_refusal_can_be_recorded(store, entrant):
    one = entrant()
    one.verify([[1.0], [0.5]], level=None, findings=[("grid.missing-cell", "refusal")])
    with pytest.raises(UserError, match=r"grid\.missing-cell.*accept --refuse REASON"):
        accept(store, one.bundle, one.verified)
    record = refuse(store, one.bundle, one.verified, "cells are missing")
    assert (record.decision, record.reason) == ("refused", "cells are missing")
    assert list(files(entry_folder(store, one.digest))) == [f"verified/{record.receipt}/{RECEIPT}"]


def test_a_refusal_needs_the_receipt_of_the_same_bundle(store, entrant):
    one, other = entrant("one"), entrant("other")
    before = files(store)
    with pytest.raises(UserError, match=f"belongs to bundle {other.digest}, not to bundle"):
        refuse(store, one.bundle, other.verified, "copied")
    assert files(store) == before


def test_refusing_a_merged_bundle_deletes_it(store, entrant):
    one = entrant()
    shutil.copytree(one.bundle, bundle_folder(store, one.digest))
    refuse(store, one.bundle, one.verified, "not signed")
    assert not bundle_folder(store, one.digest).exists()


def test_a_receipt_in_the_format_of_0_1_0_is_not_accepted(store, entrant):
    one = entrant()
    path = one.verified / RECEIPT
    old = json.loads(path.read_bytes()) | {"schema": "colbench.receipt/1", "tier": "T2"}
    path.write_bytes(canonical({name: old[name] for name in old if name != "level"}))
    said = r"receipt\.json: `schema` is colbench\.receipt/1, expected colbench\.receipt/2; verify the bundle again"
    with pytest.raises(DataError, match=said):
        accept(store, one.bundle, one.verified)


def test_a_receipt_of_another_bundle_is_not_accepted(store, entrant):
    one, other = entrant("one"), entrant("other")
    with pytest.raises(UserError, match=f"belongs to bundle {other.digest}"):
        accept(store, one.bundle, other.verified)
    assert read_log(store).records == ()


def test_a_receipt_that_covers_only_a_sample_is_not_accepted(store, entrant):
    one = entrant()
    one.verify([[1.0], [0.5]], findings=[("replay.sample", "note")])
    with pytest.raises(UserError, match=r"not replayed in all dialogues \(--replay\)"):
        accept(store, one.bundle, one.verified)
    assert read_log(store).records == ()


@pytest.mark.parametrize("name", [SCORES, SUMMARY])
def test_changed_or_missing_scores_and_summaries_are_not_accepted(store, entrant, name):
    one = entrant()
    path = one.verified / name
    path.write_bytes(path.read_bytes().replace(b"0.5", b"1.0"))
    with pytest.raises(DataError, match=f"{name}: its SHA-256 is"):
        accept(store, one.bundle, one.verified)
    path.unlink()
    with pytest.raises(DataError, match=f"{name}: cannot be read"):
        accept(store, one.bundle, one.verified)


def test_a_bundle_changed_after_packing_is_not_accepted(store, entrant):
    one = entrant()
    path = one.bundle / "trajectories" / "000.jsonl"
    path.write_bytes(path.read_bytes().replace(b"What?", b"What!"))
    with pytest.raises(DataError, match=r"manifest\.digest"):
        accept(store, one.bundle, one.verified)


def test_a_bundle_with_a_link_is_not_accepted(store, entrant, tmp_path):
    one = entrant()
    (one.bundle / "blobs").mkdir()
    (one.bundle / "blobs" / ("0" * 64)).symlink_to(tmp_path)
    with pytest.raises(DataError, match=r"archive\.link"):
        accept(store, one.bundle, one.verified)


def test_a_removed_entry_keeps_its_record_and_files(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    record = remove(store, one.digest, "the authors asked")
    assert (record.decision, record.reason, record.deleted) == (
        "removed",
        "the authors asked",
        False,
    )
    assert bundle_folder(store, one.digest).exists()
    assert read_log(store).standing() == {}


def test_removing_with_delete_deletes_the_bundle_but_keeps_the_receipt(store, entrant):
    one = entrant()
    accepted = accept(store, one.bundle, one.verified)
    assert remove(store, one.digest, "holds a name", delete=True).deleted
    assert not bundle_folder(store, one.digest).exists()
    assert verified_folder(store, one.digest, accepted.receipt).exists()


def test_the_files_of_a_removed_entry_can_still_be_deleted(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    remove(store, one.digest, "the authors asked")
    with pytest.raises(
        UserError, match=r"was already removed \(record 2\); to delete its files, add"
    ):
        remove(store, one.digest, "again")
    record = remove(store, one.digest, "holds a name", delete=True)
    assert (record.number, record.deleted) == (3, True)
    assert not bundle_folder(store, one.digest).exists()
    assert audit(store).faults == ()


def test_an_interrupted_deletion_is_completed_without_another_record(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    first = remove(store, one.digest, "holds a name", delete=True)
    shutil.copytree(one.bundle, bundle_folder(store, one.digest))  # as if killed before deleting
    assert remove(store, one.digest, "holds a name", delete=True) == first
    assert not bundle_folder(store, one.digest).exists()
    with pytest.raises(UserError, match=r"was already removed \(record 2\) and its files deleted$"):
        remove(store, one.digest, "once more", delete=True)


def test_a_missing_bundle_can_be_removed_with_delete(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    shutil.rmtree(bundle_folder(store, one.digest))
    assert remove(store, one.digest, "lost", delete=True).deleted


def test_a_full_disk_is_reported_with_the_file_in_the_store(store, entrant):
    one = entrant()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(UserError, match=f"^{store}/.*: cannot be written: File too large"):
            accept(store, one.bundle, one.verified)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_removed_entry_can_be_accepted_again(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    remove(store, one.digest, "by mistake", delete=True)
    accept(store, one.bundle, one.verified)
    assert [r.decision for r in read_log(store).records] == ["accepted", "removed", "accepted"]


def test_an_entry_without_a_flag_to_decide_on_cannot_be_kept(store, entrant):
    one = entrant(findings=[("lock.version", "flag"), ("audit.alike", "note")])
    with pytest.raises(UserError, match="is not in the store; it cannot be kept now"):
        keep(store, one.digest, "x")
    accept(store, one.bundle, one.verified)
    with pytest.raises(UserError, match="has no flag that needs a decision"):
        keep(store, one.digest, "x")


def test_only_current_entries_can_be_removed_or_rescored(store, entrant):
    one = entrant()
    with pytest.raises(UserError, match="is not in the store; it cannot be removed now"):
        remove(store, one.digest, "x")
    with pytest.raises(UserError, match="is not in the store; it cannot be rescored now"):
        rescore(store, one.digest, one.verified, "x")


def test_a_rescored_entry_keeps_the_earlier_receipt(store, entrant):
    one = entrant()
    before = accept(store, one.bundle, one.verified)
    first = files(one.verified)
    one.verify([[1.0], [1.0]], scorer="unit-tests/2")
    after = rescore(store, one.digest, one.verified, "lists compare by value")
    assert after.decision == "rescored"
    assert files(verified_folder(store, one.digest, before.receipt)) == first
    assert files(verified_folder(store, one.digest, after.receipt)) == files(one.verified)
    assert after.receipt == sha256((one.verified / RECEIPT).read_bytes())


def test_rescoring_to_the_same_receipt_records_no_decision(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    assert rescore(store, one.digest, one.verified, "x") is None
    assert len(read_log(store).records) == 1


def test_rescoring_to_a_refusal_asks_for_the_entrys_removal(store, entrant):
    one = entrant()
    accept(store, one.bundle, one.verified)
    one.verify([[1.0], [0.5]], level=None)
    with pytest.raises(UserError, match="leaderboard remove"):
        rescore(store, one.digest, one.verified, "x")


@pytest.mark.parametrize(
    ("reason", "flaw"),
    [
        ("", "the reason is empty"),
        ("  ", "the reason is empty"),
        ("x" * 2001, "2,001 characters; at most 2,000 are allowed"),
        ("copied \udcff", "not UTF-8, from character 8 on"),
    ],
)
def test_a_decision_with_an_empty_overlong_or_invalid_reason_is_not_recorded(
    store, entrant, reason, flaw
):
    one = entrant()
    before = files(store)
    for decide in (
        lambda: refuse(store, one.bundle, one.verified, reason),
        lambda: remove(store, one.digest, reason),
        lambda: rescore(store, one.digest, one.verified, reason),
        lambda: keep(store, one.digest, reason),
    ):
        with pytest.raises(UserError, match=f"^--(reason|refuse): .*{flaw}"):
            decide()
    assert files(store) == before


def test_leftovers_of_a_killed_process_do_not_prevent_accepting(store, entrant):
    one = entrant()
    part = bundle_folder(store, one.digest).with_name(".bundle.part")
    part.mkdir(parents=True)
    (part / "half").touch()
    accept(store, one.bundle, one.verified)
    assert not part.exists()
    assert files(bundle_folder(store, one.digest)) == files(one.bundle)


def test_a_store_is_created_only_in_an_empty_folder_or_repository(tmp_path):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    make_store(tmp_path / "repository")
    assert "leaderboard audit" in (tmp_path / "repository" / "README.md").read_text()
    with pytest.raises(UserError, match="not an empty folder"):
        make_store(tmp_path / "repository")
