"""Signed receipts and heads of the log, with real keys from ssh-keygen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from colbench.cli import main
from colbench.errors import DataError, UserError
from colbench_leaderboard.store.audit import audit
from colbench_leaderboard.store.decisions import accept, remove
from colbench_leaderboard.store.heads import head_of, read_head, read_heads
from colbench_leaderboard.store.layout import HEADS, LOG, SIGNERS, verified_folder
from colbench_leaderboard.store.log import read_log
from colbench_leaderboard.store.repository import make_store
from colbench_leaderboard.store.signatures import newest_head, sign_store
from colbench_leaderboard.store.signing import Keepers


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Return a folder with two keys: a keeper's and another person's."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("keeper", "stranger"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name]
        subprocess.run(words, check=True)
    return folder


def signers(keys, *names, options=""):
    lines = (f"{name}@example.org {options}{(keys / f'{name}.pub').read_text()}" for name in names)
    return "# the keepers\n" + "".join(lines)


@pytest.fixture
def signed(store, entrant, keys):
    """Return a store with two signed heads, after one and after three records."""
    (store / SIGNERS).write_text(signers(keys, "keeper"))
    one, other = entrant("one"), entrant("other")
    accept(store, one.bundle, one.verified)
    sign_store(store, keys / "keeper")
    accept(store, other.bundle, other.verified)
    remove(store, other.digest, "asked for")
    sign_store(store, keys / "keeper")
    return store


def receipt_signature(store):
    record = read_log(store).records[0]
    return verified_folder(store, record.bundle, record.receipt) / "receipt.json.sig"


def test_an_audit_of_a_signed_store_finds_no_faults_and_names_the_keepers(signed):
    found = audit(signed)
    assert (found.faults, found.signed, found.keepers) == ((), 3, ("keeper@example.org",))
    assert [(head.records, head.follows) for head in read_heads(signed)] == [(1, 0), (3, 1)]


def test_signing_again_changes_nothing(signed, keys):
    before = {path: path.read_bytes() for path in signed.rglob("*") if path.is_file()}
    assert sign_store(signed, keys / "keeper").records == 3
    assert {path: path.read_bytes() for path in signed.rglob("*") if path.is_file()} == before


def test_a_receipt_can_be_checked_with_ssh_keygen_alone(signed):
    signature = receipt_signature(signed)
    words = ["ssh-keygen", "-Y", "verify", "-f", signed / SIGNERS, "-I", "keeper@example.org"]
    words += ["-n", "colbench-receipt", "-s", signature]
    receipt = signature.with_name("receipt.json").read_bytes()
    assert subprocess.run(words, input=receipt, check=False).returncode == 0
    assert subprocess.run(words, input=receipt + b" ", check=False).returncode != 0


def truncated_log(store, keys):
    lines = (store / LOG).read_bytes().splitlines(keepends=True)
    (store / LOG).write_bytes(b"".join(lines[:2]))
    return r"heads/3\.txt: the log had 3 records, but now has 2: it was truncated"


def rewritten(store, keys):
    *lines, last = (store / LOG).read_bytes().splitlines(keepends=True)
    (store / LOG).write_bytes(b"".join(lines) + last.replace(b"asked for", b"no reason"))
    return r"heads/3\.txt: record 3 of the log had the hash \w+, but now has \w+: the log was rewritten"


def without_a_head(store, keys):
    (store / HEADS / "1.txt").unlink()
    return r"heads/1\.txt: missing, but .*heads/3\.txt follows it"


def following_an_older_head(store, keys):
    path = store / HEADS / "3.txt"
    path.write_text(path.read_text().replace("follows: 1", "follows: 0"))
    return r"heads/3\.txt: follows head 0, but head 1 exists"


def without_the_last_head(store, keys):
    (store / HEADS / "3.txt").unlink()
    return "no valid signed head covers the records from 2 on; sign with `colbench leaderboard sign"


def appended(store, keys):
    remove(store, read_log(store).records[0].bundle, "by somebody without a key")
    return "no valid signed head covers the records from 4 on"


def changed_statement(store, keys):
    path = store / HEADS / "3.txt"
    path.write_text(path.read_text().replace("follows: 1", "follows: 0"))
    return r"heads/3\.txt: its signature is for different content"


def signed_by_a_stranger(store, keys):
    (store / SIGNERS).write_text(signers(keys, "stranger"))
    return r"heads/1\.txt: its signature was made with a key that is missing from .*signers"


def signature_of_another_kind(store, keys):
    statement = read_head(store / HEADS / "3.txt").statement
    words = ["ssh-keygen", "-Y", "sign", "-q", "-f", keys / "keeper", "-n", "colbench-receipt"]
    made = subprocess.run(words, input=statement.encode(), capture_output=True, check=True)
    (store / HEADS / "3.txt").write_text(statement + made.stdout.decode())
    return r"heads/3\.txt: its signature is for different content"


def expired_key(store, keys):
    options = 'valid-before="20200101" '
    (store / SIGNERS).write_text(signers(keys, "keeper", options=options))
    return r"heads/1\.txt: its signature (is for|was made with)"


def without_a_receipts_signature(store, keys):
    receipt_signature(store).unlink()
    return r"receipt\.json\.sig: missing"


def signature_of_another_receipt(store, keys):
    other = read_log(store).records[1]
    theirs = verified_folder(store, other.bundle, other.receipt) / "receipt.json.sig"
    shutil.copyfile(theirs, receipt_signature(store))
    return r"receipt\.json\.sig: its signature is for different content"


def without_signers(store, keys):
    (store / SIGNERS).unlink()
    return "signers: missing, but the log has signed heads"


def unknown_file_among_the_heads(store, keys):
    (store / HEADS / "notes").touch()
    return "heads/notes: not a signed head"


def misnumbered_head(store, keys):
    (store / HEADS / "3.txt").rename(store / HEADS / "2.txt")
    return r"heads/2\.txt: the name must be 3\.txt"


def linked_head(store, keys):
    (store / HEADS / "3.txt").rename(store / "3.txt")
    (store / HEADS / "3.txt").symlink_to(store / "3.txt")
    return r"heads/3\.txt: a symbolic link"


def linked_heads_folder(store, keys):
    (store / HEADS).rename(store / "others")
    (store / HEADS).symlink_to(store / "others")
    return "heads: a symbolic link"


def linked_receipt_signature(store, keys):
    path = receipt_signature(store)
    path.rename(store / "signature")
    path.symlink_to(store / "signature")
    return r"receipt\.json\.sig: a symbolic link"


@pytest.mark.parametrize(
    "attack",
    [
        truncated_log,
        rewritten,
        without_a_head,
        following_an_older_head,
        without_the_last_head,
        appended,
        changed_statement,
        signed_by_a_stranger,
        signature_of_another_kind,
        expired_key,
        without_a_receipts_signature,
        signature_of_another_receipt,
        without_signers,
        unknown_file_among_the_heads,
        misnumbered_head,
        linked_head,
        linked_heads_folder,
        linked_receipt_signature,
    ],
)
def test_each_change_to_a_signed_store_is_reported_as_a_fault(signed, keys, attack):
    expected = attack(signed, keys)
    faults = "\n".join(audit(signed).faults)
    assert re.search(expected, faults), faults


def rebuilt(store, folder, entrant, keys):
    """Return a store that was rewritten with other decisions and signed by a stranger."""
    again = folder / "again"
    make_store(again)
    (again / SIGNERS).write_text(signers(keys, "stranger"))
    for name in ("one", "two", "three", "four"):
        made = entrant(name)
        accept(again, made.bundle, made.verified)
    sign_store(again, keys / "stranger")
    return again


def test_a_rewritten_store_passes_its_own_audit_but_not_with_saved_signers(
    signed, tmp_path, entrant, keys, capsys
):
    (tmp_path / "known").write_text(signers(keys, "keeper"))
    known = ["--signers", str(tmp_path / "known")]
    assert main(["leaderboard", "audit", str(signed), *known]) == 0
    again = rebuilt(signed, tmp_path, entrant, keys)
    assert main(["leaderboard", "audit", str(again)]) == 0
    capsys.readouterr()
    assert main(["leaderboard", "audit", str(again), *known]) == 1
    assert "its signature was made with a key that is missing from" in capsys.readouterr().out


def test_a_published_head_detects_a_rewritten_or_truncated_store(
    signed, tmp_path, entrant, keys, capsys
):
    published = tmp_path / "head.txt"
    assert main(["leaderboard", "head", str(signed), "--out", str(published)]) == 0
    check = ["--head", str(published)]
    assert main(["leaderboard", "audit", str(signed), *check]) == 0
    one = entrant("more")
    accept(signed, one.bundle, one.verified)
    sign_store(signed, keys / "keeper")
    assert main(["leaderboard", "audit", str(signed), *check]) == 0
    again = rebuilt(signed, tmp_path, entrant, keys)
    capsys.readouterr()
    assert main(["leaderboard", "audit", str(again), *check]) == 2
    assert "head.txt: record 3 of the log had the hash" in capsys.readouterr().err
    (signed / LOG).write_bytes(b"".join((signed / LOG).read_bytes().splitlines(keepends=True)[:2]))
    for file in (signed / HEADS).iterdir():
        file.unlink()
    assert main(["leaderboard", "audit", str(signed), *check]) == 2
    assert "the log had 3 records, but now has 2: it was truncated" in capsys.readouterr().err


def test_a_posted_head_is_read_despite_blank_lines_and_crlf(signed, tmp_path):
    path = tmp_path / "post.txt"
    path.write_text("\n\n" + newest_head(signed, read_log(signed)).text.replace("\n", "\r\n"))
    assert read_head(path) == read_heads(signed)[-1]
    path.write_text(path.read_text() + "See you!\n")
    with pytest.raises(DataError, match=r"not a log head|signature was not made by"):
        Keepers(signed / SIGNERS).signer(b"", read_head(path).signature, "colbench-head", "2026")


def test_an_unsigned_store_has_a_head_and_is_reported_as_unsigned(store, entrant, tmp_path, capsys):
    assert main(["leaderboard", "head", str(store)]) == 2
    assert "the log has no record" in capsys.readouterr().err
    one = entrant()
    accept(store, one.bundle, one.verified)
    assert main(["leaderboard", "head", str(store)]) == 0
    said = capsys.readouterr()
    assert said.out == head_of(read_log(store)).text
    assert "not signed" in said.err
    (tmp_path / "head.txt").write_text(said.out)
    assert main(["leaderboard", "audit", str(store), "--head", str(tmp_path / "head.txt")]) == 0
    assert "signed   no" in capsys.readouterr().out
    assert main(["leaderboard", "audit", str(store), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["signed"], found["keepers"]) == (0, [])


def test_a_store_with_signers_is_signed_when_a_decision_has_a_key(tmp_path, entrant, keys, capsys):
    (tmp_path / "keepers").write_text(signers(keys, "keeper"))
    store, one = tmp_path / "kept", entrant()
    flags = ["--signers", str(tmp_path / "keepers")]
    assert main(["leaderboard", "init", str(store), *flags]) == 0
    take = ["leaderboard", "accept", str(store), str(one.bundle), "--verified", str(one.verified)]
    assert main(take) == 0
    assert "are not signed yet" in capsys.readouterr().out
    key = ["--key", str(keys / "keeper")]
    remove = ["leaderboard", "remove", str(store), one.digest, "--reason", "asked for", *key]
    assert main(remove) == 0
    assert "signed   records 1 to 2" in capsys.readouterr().out
    assert main(["leaderboard", "audit", str(store)]) == 0
    assert "signed   records 1 to 2, by keeper@example.org" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "stranger",
            r"--key .*stranger: its signature was made with a key that is missing from .*signers",
        ),
        ("nowhere", r"--key .*nowhere: no such file; create a key with `ssh-keygen -t ed25519`"),
        ("rubbish", r"--key .*rubbish: cannot sign: "),
    ],
)
def test_a_key_that_cannot_sign_is_reported_and_signs_nothing(store, entrant, keys, key, message):
    (keys / "rubbish").write_text("not a key\n")
    (keys / "rubbish").chmod(0o600)
    (store / SIGNERS).write_text(signers(keys, "keeper"))
    one = entrant()
    accept(store, one.bundle, one.verified)
    with pytest.raises(UserError, match=message):
        sign_store(store, keys / key)
    assert not (store / HEADS).exists()
    assert not receipt_signature(store).exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "contains no key"),
        ("# only a comment\n\n", "contains no key"),
        ("somebody@example.org\n", "line 1: not a name and a public key"),
        ("ssh-ed25519 AAAAC3Nz\n", "line 1: not a name and a public key"),
    ],
)
def test_an_invalid_signers_file_is_reported(store, keys, content, message):
    (store / SIGNERS).write_text(content)
    with pytest.raises(UserError, match=message):
        audit(store)


def test_a_store_without_signers_cannot_be_signed(store, entrant, keys):
    one = entrant()
    accept(store, one.bundle, one.verified)
    with pytest.raises(UserError, match="signers: the list of the keepers' public keys is missing"):
        sign_store(store, keys / "keeper")


def test_a_log_that_contradicts_its_signatures_is_not_signed_again(signed, keys):
    rewritten(signed, keys)
    with pytest.raises(DataError, match="the log was rewritten"):
        sign_store(signed, keys / "keeper")


def test_a_missing_ssh_keygen_is_reported_with_its_package(signed, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="apt install openssh-client"):
        audit(signed)


def test_signing_leaves_no_temporary_files(signed):
    assert sorted(path.name for path in (signed / HEADS).iterdir()) == ["1.txt", "3.txt"]
    assert not list(Path(signed).rglob("*.part"))


@pytest.mark.parametrize(
    ("key", "message"),
    [("stranger", "key that is missing from"), ("nothing", "no such file; create a key")],
)
def test_a_wrong_key_is_reported_before_a_decision_is_recorded(
    signed, entrant, keys, capsys, key, message
):
    three, (kept,) = entrant("three"), read_log(signed).standing()
    before = (signed / LOG).read_bytes()
    accept_it = ["accept", str(signed), str(three.bundle), "--verified", str(three.verified)]
    for action in (
        accept_it,
        ["remove", str(signed), kept, "--reason", "x", "--delete"],
        ["keep", str(signed), kept, "--reason", "x"],
        ["rescore", str(signed), "--reason", "x"],
    ):
        assert main(["leaderboard", *action, "--key", str(keys / key)]) == 2
        assert message in capsys.readouterr().err.replace("\n", " ")
    assert (signed / LOG).read_bytes() == before


def test_a_wrong_key_is_reported_even_if_everything_is_signed(signed, keys, capsys):
    sign = ["leaderboard", "sign", str(signed), "--key"]
    assert main([*sign, str(keys / "stranger")]) == 2
    assert "key that is missing from" in capsys.readouterr().err
    assert main([*sign, str(keys / "keeper")]) == 0


@pytest.mark.parametrize(
    ("more", "said"), [(1, "Record 4 is newer"), (2, "Records 4 to 5 are newer")]
)
def test_the_unsigned_records_after_a_head_are_named(signed, entrant, capsys, more, said):
    for name in ("three", "four")[:more]:
        each = entrant(name)
        accept(signed, each.bundle, each.verified)
    assert main(["leaderboard", "head", str(signed)]) == 0
    assert said in capsys.readouterr().err
