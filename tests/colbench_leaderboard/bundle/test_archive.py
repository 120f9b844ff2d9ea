"""Reading untrusted bundles: every attack on the reader is refused, and the refusal names the rule."""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import tarfile
from pathlib import Path

import pytest

from colbench.errors import DataError
from colbench.rollout import read_rollouts
from colbench_leaderboard.bundle.archive import Expanded
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.refused import Refused

OUTSIDE = "/tmp/colbench-test-outside"


def refusal(path):
    """Return the refusal of a bundle."""
    with pytest.raises(Refused) as caught:
        read_bundle(path)
    return caught.value


def member(name, kind=tarfile.REGTYPE, linkname=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def test_a_folder_and_its_archive_have_the_same_digest_and_dialogues(run, packed, archived):
    said = {
        (one.task_id, one.trial): (one.request, [t.raw for t in one.turns], one.answer, one.key)
        for one in read_rollouts(run / "rollouts.jsonl")
    }
    digests = set()
    for path in (packed, archived(packed)):
        with read_bundle(path) as bundle:
            digests.add(bundle.digest)
            cells = [cell.rollout for cell in bundle.cells()]
            folder = bundle.folder
        found = {
            (one.task_id, one.trial): (one.request, [t.raw for t in one.turns], one.answer, one.key)
            for one in cells
        }
        assert found == said
        assert list(found) == sorted(said)
        assert not any(one.scores or one.seconds for one in cells)
    assert len(digests) == 1
    assert not folder.exists()  # the unpacked files are deleted


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/tmp/colbench-test-outside",
        "trajectories/../../evil",
        "trajectories/..",
        "blobs/../submission.json",
        "./submission.json",
        "submission.json/",
        "SUBMISSION.JSON",
        "ѕubmission.json",
        "submission\u200b.json",
        "submission.json ",
        "submission.json\n",
        "trajectories\\001.jsonl",
        "trajectories／001.jsonl",
        "trajectories/٠٠١.jsonl",
        "trajectories/1.jsonl",
        "trajectories/001.jsonl.exe",
        "blobs/" + "A" * 64,
        "blobs/" + "a" * 63,
        ".git/hooks/post-checkout",
        "verified/scores.jsonl",
        "evil.py",
    ],
)
def test_archives_with_invalid_file_names_are_refused(name, packed, archived):
    found = refusal(archived(packed, (member(name), b"x")))
    assert found.rule == "archive.name"
    assert str(found).isascii() or "\u2026" in str(found)
    assert not Path(OUTSIDE).exists()


@pytest.mark.parametrize(
    ("info", "rule"),
    [
        (member("blobs/" + "a" * 64, tarfile.SYMTYPE, "/etc/passwd"), "archive.link"),
        (member("trajectories", tarfile.SYMTYPE, "/tmp"), "archive.link"),
        (member("blobs/" + "a" * 64, tarfile.LNKTYPE, "submission.json"), "archive.link"),
        (member("blobs/" + "a" * 64, tarfile.CHRTYPE), "archive.kind"),
        (member("blobs/" + "a" * 64, tarfile.BLKTYPE), "archive.kind"),
        (member("blobs/" + "a" * 64, tarfile.FIFOTYPE), "archive.kind"),
        (member("blobs/" + "a" * 64, tarfile.GNUTYPE_SPARSE), "archive.kind"),
        (member("blobs", tarfile.DIRTYPE), None),
        (member("evil", tarfile.DIRTYPE), "archive.name"),
    ],
)
def test_links_devices_and_unknown_folders_in_archives_are_refused(info, rule, packed, archived):
    path = archived(packed, (info, b""))
    if rule is None:
        with read_bundle(path) as bundle:
            assert bundle.lock
    else:
        assert refusal(path).rule == rule


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_extended_tar_headers_are_refused(form, archived):
    path = archived(None, (member("trajectories/" + "0" * 200), b"x"), form=form)
    assert refusal(path).rule == "archive.kind"


def test_a_duplicate_archive_member_is_refused(packed, archived):
    assert refusal(archived(packed, (member("lock.json"), b"{}"))).rule == "archive.name"


def test_a_zip_bomb_is_refused_while_it_expands(archived):
    zeros = bytes(40 << 20)
    path = archived(None, (member("trajectories/000.jsonl"), zeros))
    assert path.stat().st_size < 100_000
    assert refusal(path).rule == "archive.ratio"


def test_a_member_with_a_too_large_declared_size_is_refused_before_reading(tmp_path):
    info = tarfile.TarInfo("submission.json")
    info.size = 7 << 30
    path = tmp_path / "large.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.USTAR_FORMAT)))
    found = refusal(path)
    assert (found.rule, found.file) == ("archive.size", "submission.json")


def test_a_stream_beyond_its_size_limit_is_refused():
    stream = Expanded(io.BytesIO(gzip.compress(os.urandom(5000))), most=4096, ratio=100)
    with pytest.raises(Refused, match="more than 4096 bytes"):
        stream.read(5000)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: good[:-20],
        lambda good: good + b"\0",
        lambda good: good + good,
        lambda good: b"PK\x03\x04" + good,
        lambda good: b"",
        lambda good: gzip.compress(gzip.decompress(good) + b"more"),
        lambda good: gzip.compress(gzip.decompress(good)[:1000]),
        lambda good: gzip.compress(gzip.decompress(good)[:-1024].rstrip(b"\0")),
        lambda good: gzip.compress(b"N" + gzip.decompress(good)[1:]),
        lambda good: gzip.compress(gzip.decompress(good).replace(b"0000644", b"0000777", 1)),
    ],
)
def test_a_damaged_archive_is_refused(spoil, packed, archived):
    path = archived(packed)
    path.write_bytes(spoil(path.read_bytes()))
    assert refusal(path).rule == "archive.damaged"


def test_a_missing_bundle_is_reported_as_unreadable(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_bundle(tmp_path / "none.tar.gz")


def link(folder):
    (folder / "lock.json").rename(folder.parent / "lock.json")
    (folder / "lock.json").symlink_to(folder.parent / "lock.json")


def linked_folder(folder):
    (folder / "trajectories").rename(folder.parent / "elsewhere")
    (folder / "trajectories").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    ("spoil", "rule", "file"),
    [
        (link, "archive.link", "lock.json"),
        (linked_folder, "archive.link", "trajectories"),
        (lambda b: (b / "blobs").symlink_to("/etc"), "archive.link", "blobs"),
        (lambda b: os.mkfifo(b / "blobs"), "archive.name", "blobs"),
        (
            lambda b: (b / "trajectories" / "001.jsonl").mkdir(),
            "archive.kind",
            "trajectories/001.jsonl",
        ),
        (lambda b: (b / ".DS_Store").touch(), "archive.name", ".DS_Store"),
        (lambda b: (b / "scores.json").touch(), "archive.name", "scores.json"),
        (
            lambda b: (b / "trajectories" / "\u202ejson").touch(),
            "archive.name",
            r"trajectories/\u202ejson",
        ),
        (lambda b: Path(os.fsdecode(bytes(b) + b"/\xff")).touch(), "archive.name", r"\udcff"),
        (lambda b: (b / "submission.json").unlink(), "archive.missing", "submission.json"),
        (lambda b: (b / "MANIFEST.sha256").unlink(), "archive.missing", "MANIFEST.sha256"),
        (
            lambda b: (b / "submission.json").write_bytes(bytes(70_000)),
            "archive.size",
            "submission.json",
        ),
        (lambda b: os.truncate(b / "lock.json", 9 << 40), "archive.size", "lock.json"),
    ],
)
def test_a_folder_with_links_or_unexpected_missing_or_large_files_is_refused(
    spoil, rule, file, packed
):
    spoil(packed)
    found = refusal(packed)
    assert (found.rule, found.file) == (rule, file)


def test_a_bundle_that_is_a_link_is_refused(packed, tmp_path):
    (tmp_path / "link").symlink_to(packed)
    assert refusal(tmp_path / "link").rule == "archive.link"


def test_a_file_that_differs_from_its_manifest_hash_is_refused(packed):
    path = packed / "trajectories" / "000.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"trial":0', b'"trial":5', 1))
    found = refusal(packed)
    assert (found.rule, found.file) == ("manifest.digest", "trajectories/000.jsonl")


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        (r"\A", "x", "manifest.malformed", 1),
        (r"  lock", " *lock", "manifest.malformed", 1),
        (r"lock\.json", "../lock.json", "manifest.malformed", 1),
        (r"\n", "\r\n", "manifest.malformed", 1),
        (r"\n\Z", "", "manifest.malformed", None),
        (r"(?s)\A(.*?\n)", r"\1\1", "manifest.order", 2),
        (r"(?s)\A(.*?\n)(.*?\n)", r"\2\1", "manifest.order", 2),
        (r"\A.*\n", "", "manifest.unlisted", None),
        (r"\Z", "0" * 64 + "  trajectories/001.jsonl\n", "manifest.missing", None),
        (r"\Z", "0" * 64 + "  MANIFEST.sha256\n", "manifest.malformed", 4),
    ],
)
def test_a_malformed_unsorted_or_incomplete_manifest_is_refused(old, new, rule, line, packed):
    manifest = packed / "MANIFEST.sha256"
    text = re.sub(old, new, manifest.read_text(), count=1)
    manifest.write_bytes(text.encode())
    found = refusal(packed)
    assert (found.rule, found.line) == (rule, line)


def mutated(content, rng):
    """Return the content with a few bytes changed, removed, inserted, or repeated."""
    spoiled = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 10))):
        start, length = rng.randrange(len(spoiled)), rng.randrange(1, 40)
        part = rng.choice(
            (
                rng.randbytes(1),
                b"",
                bytes(rng.choices(b'"\\{}[],:0-9eE.\x00\xff\xed\xa0', k=length)),
                spoiled[start : start + length] * 2,
            )
        )
        spoiled[start : start + length] = part
    return bytes(spoiled or b"x")


@pytest.mark.parametrize("seed", range(4))
def test_mutated_bundles_and_archives_raise_nothing_but_refusals(
    seed, packed_with_blob, archived, seal
):
    rng = random.Random(seed)
    archive = archived(packed_with_blob)
    good = {path: path.read_bytes() for path in packed_with_blob.rglob("*") if path.is_file()}
    tar = gzip.decompress(archive.read_bytes())
    refused = 0
    for turn in range(60):
        path, content = rng.choice([*good.items()])
        path.write_bytes(mutated(content, rng))
        archive.write_bytes(gzip.compress(mutated(tar, rng), 1))
        try:
            for spoilt in (archive, seal(packed_with_blob) if turn % 2 else packed_with_blob):
                with read_bundle(spoilt) as bundle:
                    list(bundle.cells())
        except Refused:
            refused += 1
        for file, whole in good.items():
            file.write_bytes(whole)
    assert refused > 30
