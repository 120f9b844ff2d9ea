"""Generated input for the value transport: any bytes are either a value or malformed, which is found quickly.

`--hypothesis-profile=long` runs two hundred times as many examples.
"""

from __future__ import annotations

import json
import time

from hypothesis import given
from hypothesis import strategies as st

from colbench.sandbox.inside.encode import encode
from colbench.sandbox.jobs import CallResult, parse_line
from colbench.sandbox.values import _FORMS, MalformedValueError, comparable, equal, kind, show

SECONDS = 5
"""Maximum seconds of processor time for one text in all functions."""
TAGS = st.sampled_from([*_FORMS, "list", "x", ""])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.integers().map(hex),
    st.sampled_from(
        ["0x0", "1e999999999", "NaN", "-Infinity", "1_0", "0x" + "f" * 2000, "9" * 500]
    ),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(TAGS, inner, min_size=1, max_size=1),
        st.dictionaries(TAGS, st.lists(st.lists(inner, min_size=2, max_size=2)), max_size=2),
    ),
    max_leaves=16,
)
PYTHON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


def read_in_every_way(text: bytes) -> None:
    """Read a text in every way, against itself and another value. Only MalformedValueError may be raised."""
    started = time.process_time()
    for policy in ("default", "official"):
        for left, right in ((text, b"1"), (b'{"ordered": []}', text), (text, text + b" ")):
            tolerate(equal, left, right, policy)
    tolerate(comparable, text)
    tolerate(kind, text)
    shown = tolerate(show, text, 80)
    assert shown is None or (len(shown) <= 80 and "\x1b" not in shown)
    assert time.process_time() - started < SECONDS


def tolerate(function, *arguments):
    try:
        return function(*arguments)
    except MalformedValueError:
        return None


@given(st.binary(max_size=500))
def test_any_bytes_are_a_value_or_malformed(text):
    read_in_every_way(text)


@given(TREES)
def test_any_tree_of_known_and_unknown_tags_is_a_value_or_malformed(tree):
    read_in_every_way(json.dumps(tree).encode())


@given(TAGS, st.integers(1, 2000), TREES)
def test_any_depth_of_one_tag_is_a_value_or_malformed(tag, depth, tree):
    start, end = (b"[", b"]") if tag == "list" else (b'{"%b":[' % tag.encode(), b"]}")
    read_in_every_way(start * depth + json.dumps(tree).encode() + end * depth)


@given(PYTHON, st.data())
def test_a_real_value_with_changed_bytes_is_a_value_or_malformed(value, data):
    spoiled = bytearray(encode(value).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(spoiled)))
        spoiled[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    read_in_every_way(bytes(spoiled))


@given(PYTHON, PYTHON)
def test_encoded_values_are_equal_exactly_when_the_originals_are(value, other):
    sent, another = encode(value).encode(), encode(other).encode()
    assert sent.isascii()
    assert b"\n" not in sent
    assert equal(sent, sent)
    assert equal(sent, another) == (value == other)


@given(st.binary(max_size=300), st.sampled_from([b"value", b"error", b"invalid", b"same", b""]))
def test_any_line_of_a_candidate_is_a_result(content, word):
    for line in (content, word + b"\t" + content):
        found = parse_line(line)
        assert isinstance(found, CallResult)
        assert found.status in ("value", "error")
        assert len(found.message) <= 300 * 10
