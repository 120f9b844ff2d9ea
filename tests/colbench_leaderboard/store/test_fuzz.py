"""Generated input for every reader of untrusted bytes: it is read, or refused with the expected error.

`--hypothesis-profile=long` runs two hundred times as many examples.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colbench.errors import DataError, UserError
from colbench_leaderboard.bundle.archive import write
from colbench_leaderboard.bundle.encoding import canonical, decode, require_flat
from colbench_leaderboard.bundle.files import manifest
from colbench_leaderboard.bundle.plain_text import look_alike, name_flaw, text_flaw
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.bundle.schema import MANIFEST, Lock, Submission, Trajectory
from colbench_leaderboard.store.heads import read_head
from colbench_leaderboard.store.layout import Record
from colbench_leaderboard.store.log import parse_log
from colbench_leaderboard.store.signing import Keepers

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KINDS = (Submission, Lock, Trajectory, Record)


@st.composite
def mutated(draw, content):
    """Draw the content with up to four parts removed, doubled, or replaced."""
    spoiled = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(spoiled) - 1)))
        length = draw(st.integers(0, 40))
        part = spoiled[start : start + length]
        odd = st.text('"\\{}[],:0-9eE.\x00é\ud800', max_size=8)
        new = draw(
            st.one_of(
                st.binary(max_size=4),
                odd.map(lambda text: text.encode("utf-8", "surrogatepass")),
                st.just(bytes(part) * 2),
            )
        )
        spoiled[start : start + length] = new
    return bytes(spoiled)


def read_whole(path):
    with read_bundle(path) as bundle:
        bundle.check_cells()


def read_archive(content):
    """Read an archive with this content. Check that it is read or refused, and that no other file is written."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "x.tar.gz"
        path.write_bytes(content)
        with suppress(Refused):
            read_whole(path)
        assert [each.name for each in Path(scratch).iterdir()] == ["x.tar.gz"]


@pytest.fixture(scope="module")
def whole_archive(small_bundle, tmp_path_factory):
    """Return the bytes of a valid archive."""
    path = tmp_path_factory.mktemp("archive") / "small.tar.gz"
    files = sorted(each for each in small_bundle.rglob("*") if each.is_file())
    write(path, ((str(each.relative_to(small_bundle)), each) for each in files))
    read_whole(path)
    return path.read_bytes()


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_as_an_archive_are_read_or_refused(content):
    read_archive(content)
    read_archive(gzip.compress(content, 1))


@given(st.data())
def test_a_mutated_archive_is_read_or_refused(whole_archive, data):
    read_archive(data.draw(mutated(whole_archive)))
    read_archive(gzip.compress(data.draw(mutated(gzip.decompress(whole_archive))), 1))


MEMBERS = st.builds(
    dict,
    name=st.sampled_from(
        ["submission.json", "../x", "/x", "trajectories/000.jsonl", "blobs/" + "a" * 64, "x" * 99]
    )
    | st.text(max_size=20),
    kind=st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
    | st.binary(min_size=1, max_size=1),
    link=st.sampled_from(["", "/etc/passwd", "../..", "submission.json"]),
    size=st.integers(0, 2**33),
)


@given(st.lists(MEMBERS, max_size=5), st.binary(max_size=600))
def test_an_archive_with_arbitrary_members_is_read_or_refused(members, rest):
    tar = b""
    for each in members:
        info = tarfile.TarInfo(each["name"].encode("utf-8", "replace").decode())
        info.type, info.linkname, info.size = each["kind"], each["link"], each["size"]
        tar += info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    read_archive(gzip.compress(tar + rest, 1))


@given(st.data())
def test_a_bundle_with_a_mutated_file_is_read_or_refused(small_bundle, data):
    names = sorted(
        str(each.relative_to(small_bundle)) for each in small_bundle.rglob("*") if each.is_file()
    )
    spoiled = data.draw(st.sampled_from(names))
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            content = (small_bundle / name).read_bytes()
            path = Path(scratch) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data.draw(mutated(content)) if name == spoiled else content)
        if spoiled != MANIFEST:  # otherwise only the hashes of the manifest would be tested
            sealed = manifest(Path(scratch), [name for name in names if name != MANIFEST])
            (Path(scratch) / MANIFEST).write_bytes(sealed)
        with suppress(Refused):
            read_whole(Path(scratch))


@given(st.sampled_from(KINDS), st.binary(max_size=400))
def test_arbitrary_bytes_as_strict_json_are_decoded_or_refused(kind, content):
    with suppress(Refused):
        decode(content, kind, most=300, file="x")


@given(st.sampled_from(KINDS), JSON)
def test_arbitrary_json_as_a_record_is_decoded_or_refused(kind, value):
    for content in (
        json.dumps(value).encode("utf-8", "surrogatepass"),
        json.dumps([value]).encode(),
    ):
        with suppress(Refused):
            decode(content, kind, most=10_000, file="x")


@given(JSON)
def test_canonical_json_is_decoded_without_loss(value):
    try:
        content = canonical(value)
    except (TypeError, ValueError, UnicodeEncodeError):
        return  # JSON cannot contain a lone surrogate
    with suppress(Refused):
        require_flat(value, "x")
    assert canonical(decode(content, object, most=len(content), file="x")) == content


@given(st.data())
def test_a_mutated_trajectory_is_refused_or_decoded_without_loss(small_bundle, data):
    line = (small_bundle / "trajectories" / "000.jsonl").read_bytes().splitlines()[0]
    spoiled = data.draw(mutated(line))
    with suppress(Refused):
        found = decode(spoiled, Trajectory, most=100_000, file="x", line=1)
        assert canonical(found) == spoiled


@given(st.binary(max_size=400))
def test_arbitrary_bytes_as_a_log_are_read_or_refused(content):
    with suppress(DataError):
        parse_log(content)


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda t: t.encode("utf-8", "replace")))
def test_arbitrary_bytes_as_a_head_or_signers_file_are_read_or_refused(content):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        for read in (read_head, Keepers):
            with suppress(UserError):
                read(Path(file.name))


@given(st.text(max_size=60), st.text(max_size=60))
def test_name_checks_work_on_any_text_and_similarity_is_symmetric(one, other):
    assert isinstance(name_flaw(one), str)
    assert isinstance(text_flaw(one), str)
    assert look_alike(one, one)
    assert look_alike(one, other) == look_alike(other, one)
