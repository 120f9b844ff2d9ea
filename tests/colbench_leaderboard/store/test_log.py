from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from colbench.errors import DataError, UserError
from colbench_leaderboard.store.layout import FIRST, LOG
from colbench_leaderboard.store.log import find, read_log, require_latest, writing

A, B, C = "a" * 64, "b" * 64, "c" * 64
RECEIPT = "d" * 64
NOBODY = 65534


@pytest.fixture
def log(store):
    """Return a log of three decisions."""
    with writing(store) as log:
        log.append("accepted", A, receipt=RECEIPT)
        log.append("refused", B, receipt=RECEIPT, reason="copied")
        log.append("removed", A, reason="asked for")
    return store / LOG


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def chained(records):
    """Return the bytes of records with a valid hash chain, as the log or a forger would write them."""
    previous, content = FIRST, b""
    for record in records:
        fields = sorted((record | {"previous": previous}).items())
        line = json.dumps(dict(fields), separators=(",", ":")).encode()
        previous = hashlib.sha256(line).hexdigest()
        content += line + b"\n"
    return content


def records(path):
    return [json.loads(line) for line in lines(path)]


def test_an_empty_store_has_an_empty_log(store):
    log = read_log(store)
    assert (log.records, log.head, log.torn) == ((), FIRST, False)


def test_appended_records_are_read_back(store, log):
    found = read_log(store)
    assert [r.number for r in found.records] == [1, 2, 3]
    assert [r.decision for r in found.records] == ["accepted", "refused", "removed"]
    assert found.records[1].reason == "copied"
    assert found.head == hashlib.sha256(lines(log)[-1].rstrip()).hexdigest()


def test_source_date_epoch_sets_the_time_of_a_record(store, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795478400")
    with writing(store) as log:
        assert log.append("accepted", A, receipt=RECEIPT).time == "2026-11-24T00:00:00Z"
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
        with pytest.raises(UserError, match="SOURCE_DATE_EPOCH: expected a number of seconds"):
            log.append("accepted", B, receipt=RECEIPT)


def test_each_line_contains_the_hash_of_the_previous_line(log):
    previous = [record["previous"] for record in records(log)]
    assert previous == [
        FIRST,
        *(hashlib.sha256(line.rstrip()).hexdigest() for line in lines(log)[:-1]),
    ]


def test_current_entries_exclude_removed_ones_and_have_their_last_record(store, log):
    assert read_log(store).standing() == {}
    with writing(store) as writer:
        writer.append("accepted", A, receipt=RECEIPT)
        last = writer.append("rescored", A, receipt="e" * 64, reason="new rules")
    assert read_log(store).standing() == {A: last}
    with writing(store) as writer:
        kept = writer.append("kept", A, receipt="e" * 64, reason="explained")
    assert read_log(store).standing() == {A: kept}


def test_the_log_is_a_hash_chain_of_canonical_json_lines(log):
    assert log.read_bytes() == chained(records(log))


def changed(log):
    log.write_bytes(log.read_bytes().replace(b"copied", b"sorry!"))


def swapped(log):
    first, second, third = lines(log)
    log.write_bytes(second + first + third)


def without_the_first(log):
    log.write_bytes(b"".join(lines(log)[1:]))


def without_the_middle(log):
    first, _, third = lines(log)
    log.write_bytes(first + third)


def repeated(log):
    first, *_ = lines(log)
    log.write_bytes(first + log.read_bytes())


@pytest.mark.parametrize(
    ("attack", "line"),
    [(changed, 3), (swapped, 1), (without_the_first, 1), (without_the_middle, 2), (repeated, 2)],
)
def test_a_log_with_changed_moved_removed_or_repeated_lines_is_refused(store, log, attack, line):
    attack(log)
    with pytest.raises(DataError, match=rf"^log\.jsonl, line {line}: .*changed, moved or removed"):
        read_log(store)


FORGED = [
    ({"number": 7}, "`number` is 7, but must be 2"),
    ({"decision": "rescored"}, "`rescored` cannot be the first"),
    ({"decision": "removed", "receipt": None}, "`removed` cannot be the first"),
    ({"receipt": None}, "`receipt` is missing"),
    ({"receipt": "0123"}, "receipt"),
    ({"reason": None}, "`reason` is missing"),
    ({"reason": " "}, "`reason` is missing"),
    ({"reason": "x" * 3000}, "reason"),
    ({"decision": "accepted"}, "`reason` must be empty if the decision is `accepted`"),
    ({"bundle": "../../etc"}, "bundle"),
    ({"time": "yesterday"}, "time"),
    ({"time": "2026-02-30T12:00:00Z"}, "`time` is .*which is not a time"),
    ({"deleted": True}, "`deleted` is allowed only if the decision is `removed`"),
    ({"reference_line": True}, "are allowed only if the decision is `accepted`"),
    ({"reruns": A}, "are allowed only if the decision is `accepted`"),
    ({"decision": "accepted", "reason": None, "reruns": C}, f"{C} is not a current entry"),
    (
        {"decision": "accepted", "reason": None, "reruns": A, "reference_line": True},
        "cannot both be set",
    ),
    ({"decision": "kept"}, "`kept` cannot be the first"),
    ({"decision": "kept", "bundle": A, "receipt": "e" * 64}, "must be the current receipt"),
    ({"score": 1.0}, "score"),
]


@pytest.mark.parametrize(("fields", "reason"), FORGED)
def test_an_invalid_record_is_refused_even_with_a_valid_hash_chain(store, log, fields, reason):
    first, second, third = records(log)
    forged = {k: v for k, v in (second | fields).items() if v is not None}
    log.write_bytes(chained([first, forged, third]))
    with pytest.raises(DataError, match=rf"^log\.jsonl, line 2: .*{reason}"):
        read_log(store)


ODD = [
    (b"{}", "missing"),
    (b"", "not JSON"),
    (b"[" * 5000, "nested|not JSON"),
    (b'{"number":NaN}', "NaN"),
    (b'{"number":1,"number":2}', "twice"),
    (b"\xff", "UTF-8"),
    (b'{"reason":"' + b"x" * 70_000 + b'"}', "bytes"),
]


@pytest.mark.parametrize(("line", "reason"), ODD)
def test_a_line_that_is_not_a_record_is_refused(store, log, line, reason):
    log.write_bytes(log.read_bytes() + line + b"\n")
    with pytest.raises(DataError, match=rf"^log\.jsonl, line 4: .*({reason})"):
        read_log(store)


def test_a_record_in_noncanonical_json_is_refused(store, log):
    log.write_bytes(lines(log)[0].replace(b":", b": ", 1))
    with pytest.raises(DataError, match="line 1: not canonical"):
        read_log(store)


def test_a_saved_head_detects_a_truncated_or_rewritten_log(store, log):
    noted = read_log(store).head
    assert read_log(store, noted).head == noted
    whole = log.read_bytes()
    log.write_bytes(b"".join(lines(log)[:2]))
    assert len(read_log(store).records) == 2
    with pytest.raises(DataError, match=f"no line has the hash {noted}"):
        read_log(store, noted)
    anew = records(log)
    anew[1]["reason"] = "another"
    log.write_bytes(chained(anew))
    with pytest.raises(DataError, match="truncated or rewritten"):
        read_log(store, noted)
    log.write_bytes(whole)
    with writing(store) as writer:
        writer.append("accepted", C, receipt=RECEIPT)
    assert len(read_log(store, noted).records) == 4


def test_a_torn_last_line_is_ignored_and_replaced_by_the_next_record(store, log):
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"bundle":"aa')
    found = read_log(store)
    assert (len(found.records), found.torn) == (3, True)
    with writing(store) as writer:
        writer.append("accepted", C, receipt=RECEIPT)
    assert (len(read_log(store).records), read_log(store).torn) == (4, False)
    assert log.read_bytes().startswith(whole)


def test_a_record_that_does_not_fit_on_the_disk_is_not_partly_written(store, log):
    before = log.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with writing(store) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
        try:
            with pytest.raises(UserError, match=r"log\.jsonl: cannot be written: File too large"):
                writer.append("accepted", C, receipt=RECEIPT)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.read_bytes() == before
        assert len(writer.log.records) == 3
        assert writer.append("accepted", C, receipt=RECEIPT).number == 4


def test_a_decision_out_of_order_is_not_written(store, log):
    before = log.read_bytes()
    with writing(store) as writer, pytest.raises(UserError, match="cannot be the first"):
        writer.append("removed", C, reason="x")
    assert log.read_bytes() == before


def test_a_damaged_log_cannot_be_opened_for_writing(store, log):
    changed(log)
    before = log.read_bytes()
    with pytest.raises(DataError, match="line 3"), writing(store):
        pass
    assert log.read_bytes() == before


def test_one_process_writes_at_a_time(store):
    other = (
        "import sys, pathlib\n"
        "from colbench_leaderboard.store.log import writing\n"
        "with writing(pathlib.Path(sys.argv[1])): print('held')"
    )
    with writing(store):
        done = subprocess.run(
            [sys.executable, "-c", other, str(store)], capture_output=True, text=True, check=False
        )
    assert "in use by another colbench process" in done.stderr
    assert subprocess.run([sys.executable, "-c", other, str(store)], check=True).returncode == 0


def test_a_folder_without_a_log_is_not_a_store(tmp_path):
    with pytest.raises(DataError, match="is not a store.*leaderboard init"):
        read_log(tmp_path)
    with pytest.raises(DataError, match="is not a store"), writing(tmp_path):
        pass


def test_a_log_that_is_a_symbolic_link_is_refused(store, tmp_path):
    (tmp_path / "elsewhere").touch()
    (store / LOG).unlink()
    os.symlink(tmp_path / "elsewhere", store / LOG)
    with pytest.raises(DataError), writing(store):
        pass
    with pytest.raises(DataError, match=r"log\.jsonl: a symbolic link"):
        read_log(store)


def test_a_log_with_a_second_hard_link_is_read_but_not_written(store, log, tmp_path):
    os.link(log, tmp_path / "elsewhere")
    before = log.read_bytes()
    with pytest.raises(DataError, match="has another name"), writing(store):
        pass
    assert (tmp_path / "elsewhere").read_bytes() == before
    assert len(read_log(store).records) == 3
    (tmp_path / "elsewhere").unlink()
    with writing(store) as writer:
        writer.append("accepted", C, receipt=RECEIPT)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_log_that_is_a_pipe_or_a_folder_is_refused_without_waiting(store, make):
    (store / LOG).unlink()
    make(store / LOG)
    with pytest.raises(DataError, match=r"log\.jsonl: not a regular file$"):
        read_log(store)


def test_a_bundle_is_found_by_a_unique_prefix_of_its_digest(store, log):
    assert find(read_log(store), "aa") == A
    with pytest.raises(UserError, match="no bundle in the log"):
        find(read_log(store), "0")
    with pytest.raises(UserError, match="2 bundles start with these digits"):
        find(read_log(store), "")


def test_entries_with_the_same_first_12_digits_cannot_both_be_accepted(store):
    taken, like = "ab" * 32, "ab" * 6 + "cd" * 26
    with writing(store) as log:
        log.append("accepted", taken, receipt="ef" * 32)
        with pytest.raises(UserError, match=f"{like} begins with the same 12 digits as {taken}"):
            require_latest(log.log, like, "accepted")
        require_latest(log.log, like, "refused")
        require_latest(log.log, "ac" * 32, "accepted")


@pytest.fixture
def read_only_store(store, monkeypatch):
    """Return the store as the working folder, which other users may read but not write."""
    (store / LOG).chmod(0o444)
    store.chmod(0o755)
    monkeypatch.chdir(store)
    return Path()


@pytest.fixture
def unprivileged_user():
    """Run the test without root's rights, because file modes do not restrict root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


def test_a_read_only_store_is_reported_as_not_writable(read_only_store, unprivileged_user):
    said = r"log\.jsonl cannot be written \(Permission denied"
    with pytest.raises(UserError, match=said), writing(read_only_store):
        pass
