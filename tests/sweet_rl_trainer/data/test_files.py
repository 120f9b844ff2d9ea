"""Examples on disk: they are read back as written, and each side is stored once."""

from __future__ import annotations

from array import array

import msgspec
import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from colbench.errors import DataError
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.files import read, write


def side(name, *weights):
    """Return a side with one example for each tuple of weights."""
    examples = tuple(
        Example(ids=array("i", range(7, 7 + len(each))), token_weights=array("f", each))
        for each in weights
    )
    return Side(examples=examples, trajectory=name, reward=0.1, turns=2, reply_tokens=3)


A, B, C = side("a", (0, 1 / 3)), side("b", (0.5, 0), (1, 0, -2)), side("c", ())
PAIRS = [
    PairExample(chosen=A, rejected=B, task_hash="x"),
    PairExample(chosen=A, rejected=C, task_hash="y"),
    PairExample(chosen=B, rejected=A, task_hash="x", imitated=False),
]


@pytest.mark.parametrize("examples", [PAIRS, PAIRS[:1], [A, B, C], []])
def test_examples_are_read_back_as_written(examples, tmp_path):
    write(tmp_path / "x", examples)
    assert read(tmp_path / "x") == examples
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_side_of_several_pairs_is_stored_and_loaded_once(tmp_path):
    write(tmp_path / "x", PAIRS)
    stored = msgspec.msgpack.decode((tmp_path / "x").read_bytes())
    assert [each[1] for each in stored["sides"]] == ["a", "b", "c"]
    first, second, third = read(tmp_path / "x")
    assert first.chosen is second.chosen is third.rejected


def test_older_files_without_the_list_of_pairs_not_imitated_are_read(tmp_path):
    write(tmp_path / "x", PAIRS[:2])
    stored = msgspec.msgpack.decode((tmp_path / "x").read_bytes())
    assert stored.pop("not_imitated") == []
    (tmp_path / "x").write_bytes(msgspec.msgpack.encode(stored))
    assert read(tmp_path / "x") == PAIRS[:2]


def test_numbers_are_stored_in_little_endian_order(tmp_path):
    write(tmp_path / "x", [side("a", (1.0,))])
    stored = msgspec.msgpack.decode((tmp_path / "x").read_bytes())
    assert stored["sides"][0][0] == [[b"\7\0\0\0", b"\0\0\x80\x3f", []]]


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_damaged_file_is_an_error_that_names_it(cut, tmp_path):
    path = tmp_path / "train.msgpack"
    write(path, PAIRS)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(
        DataError, match=r"train\.msgpack: .*; delete the folder .*, and repeat the"
    ):
        read(path)


def test_an_incomplete_number_is_an_error(tmp_path):
    stored = {"sides": [[[[b"\7\0\0", b""]], "a", 0.0, 1, 1]], "pairs": None}
    (tmp_path / "x").write_bytes(msgspec.msgpack.encode(stored))
    with pytest.raises(DataError, match="delete the folder"):
        read(tmp_path / "x")


@pytest.mark.parametrize("pair", [[0, 1, "x"], [-1, 0, "x"]])
def test_a_pair_with_a_missing_side_is_an_error(pair, tmp_path):
    stored = {"sides": [[[], "a", 0.0, 1, 1]], "pairs": [pair]}
    (tmp_path / "x").write_bytes(msgspec.msgpack.encode(stored))
    with pytest.raises(DataError, match="delete the folder"):
        read(tmp_path / "x")
