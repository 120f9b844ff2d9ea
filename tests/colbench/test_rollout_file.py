"""Rollout files that are read from their end: the last line of each key."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colbench import rollout_file
from colbench.errors import DataError
from colbench.rollout import Rollout, encode_rollout, placed_rollouts
from colbench.rollout_file import RolloutReader, StoredRollouts, latest_rollouts


def rollout(key: str, answer: str = "x") -> Rollout:
    return Rollout(
        key=key,
        task_id="t",
        task_hash="h",
        domain="backend",
        trial=0,
        seed=1,
        request="please",
        turns=(),
        answer=answer,
        ended_by="answer",
    )


@given(
    written=st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3000)), max_size=12),
    torn=st.sampled_from([b"", b"{", b'{"key": "' + b"y" * 5000]),
)
def test_the_last_line_of_each_key_is_read_with_its_place(tmp_path_factory, written, torn):
    path = tmp_path_factory.mktemp("file") / "rollouts.jsonl"
    lines = [encode_rollout(rollout(key, "x" * size)) for key, size in written]
    path.write_bytes(b"".join(lines) + torn)
    latest = {placed.rollout.key: placed for placed in placed_rollouts(path)}
    found = list(latest_rollouts(path))
    assert dict(found) == {each.start: each.rollout for each in latest.values()}
    assert [place for place, _ in found] == sorted((place for place, _ in found), reverse=True)


def test_lines_longer_than_a_block_are_read_whole(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    sizes = [10, rollout_file.BLOCK - 100, rollout_file.BLOCK * 2, 5, rollout_file.BLOCK]
    written = [rollout(str(number), "ä\r" * (size // 2)) for number, size in enumerate(sizes)]
    path.write_bytes(b"".join(map(encode_rollout, written)) + b"{" * rollout_file.BLOCK * 2)
    assert [found for _, found in latest_rollouts(path)] == written[::-1]


def test_a_missing_file_has_no_rollouts(tmp_path):
    assert list(latest_rollouts(tmp_path / "none")) == []


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_error_for_a_malformed_line_has_its_number_from_the_start(tmp_path, number):
    lines = [encode_rollout(rollout(key)) for key in "abc"]
    lines[number - 1] = b'{"key": 1}\n'
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"rollouts.jsonl, line {number}: not a rollout"):
        list(latest_rollouts(path))
    starts = [0, *itertools.accumulate(map(len, lines))]
    with RolloutReader(path) as reader, pytest.raises(DataError, match=f"line {number}: not"):
        reader.at(starts[number - 1])


def test_stored_rollouts_behave_like_a_sequence(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b"".join(encode_rollout(rollout(key)) for key in "abc"))
    places = [place for place, _ in latest_rollouts(path)]
    stored = StoredRollouts(path, places)
    assert [each.key for each in stored] == ["c", "b", "a"]
    assert [each.key for each in stored[1:]] == ["b", "a"]
    assert (len(stored), stored[2].key) == (3, "a")
