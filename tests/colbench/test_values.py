"""Values from the sandbox: they compare as with `==` except in a few known cases; caps and hostile texts."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from http import HTTPStatus
from types import SimpleNamespace

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from colbench.sandbox.inside.candidate import _described
from colbench.sandbox.inside.encode import UnsupportedValueError, encode
from colbench.sandbox.jobs import parse_line
from colbench.sandbox.values import MalformedValueError, comparable, equal, kind, show

Point = namedtuple("Point", "x y")

numbers = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e300, math.inf, -math.inf, 2.0**70]),
    st.floats(allow_nan=False),
    st.fractions(max_denominator=4),
    st.decimals(allow_nan=False, min_value=-4, max_value=4, places=1),
    st.sampled_from(
        [0j, 1 + 0j, 1 + 2j, complex(0.5, -0.0), Decimal("Infinity"), 2**70, Decimal("1E+9")]
    ),
)
texts = st.one_of(st.sampled_from(["", "a", "1", "None", '"', "\ud800", "é"]), st.text(max_size=3))
moments = st.one_of(
    st.sampled_from([datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), datetime.time(1, 2)]),
    st.datetimes(timezones=st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))])),
    st.timedeltas(),
)  # fmt: skip
scalars = st.one_of(
    st.none(),
    numbers,
    texts,
    st.sampled_from(
        [b"", b"a", bytearray(b"a"), range(0), range(0, 4, 2), range(0, 3, 2), range(1, 1)]
    ),
    moments,
    st.sampled_from([int, str, bool, HTTPStatus.OK, HTTPStatus.CREATED]),
    st.uuids() | st.just(uuid.UUID(int=1)),
    st.complex_numbers(allow_nan=False, max_magnitude=2),
    st.binary(max_size=2) | st.binary(max_size=2).map(bytearray),
    st.builds(range, st.integers(-2, 4), st.integers(-2, 4), st.sampled_from([-2, -1, 1, 2])),
)
hashable = st.recursive(
    st.one_of(st.none(), numbers, texts, moments),
    lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)),
    max_leaves=4,
)


def containers(inner):
    mappings = st.dictionaries(hashable, inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Point, inner, inner),
        st.lists(inner, max_size=3).map(deque),
        st.sets(hashable, max_size=3),
        mappings,
        mappings.map(lambda d: defaultdict(list, d)),
        mappings.map(lambda d: d.keys()),
        mappings.map(lambda d: d.items()),
        st.builds(SimpleNamespace, a=inner),
        st.builds(SimpleNamespace, a=inner, b=inner),
    )


values = st.recursive(scalars, containers, max_leaves=6)


def both(left, right, policy="default"):
    return equal(encode(left).encode(), encode(right).encode(), policy)


@settings(max_examples=400)
@given(values, values)
@example({None: bytearray()}.items(), {None: 1}.keys())
def test_values_are_equal_exactly_when_python_says_so(left, right):
    try:
        same = left == right
    except TypeError:
        reject()  # Python cannot compare views of what it cannot hash
    for policy in ("default", "official"):
        assert both(left, right, policy) == same


entries = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=3)
mappings = st.builds(
    lambda kind, pairs: kind(dict(pairs)), st.sampled_from([dict, OrderedDict, Counter]), entries
)


@settings(max_examples=400)
@given(mappings, mappings)
def test_counters_and_ordered_dicts_compare_as_in_python(left, right):
    assert both(left, right) == (left == right)
    assert both([left], [right], "official") == (left == right)


@settings(max_examples=200)
@given(values)
def test_a_value_equals_itself_and_can_be_shown(value):
    encoded = encode(value).encode()
    assert equal(encoded, encoded)
    assert equal(encoded, encoded, "official") == (value == value)  # noqa: PLR0124
    assert comparable(encoded)
    assert len(show(encoded, 80)) <= 80


@settings(max_examples=200)
@given(
    st.one_of(numbers, st.lists(numbers, max_size=2)),
    st.one_of(numbers, st.lists(numbers, max_size=2)),
)
def test_numbers_of_different_types_are_compared_exactly(left, right):
    assert both(left, right) == (left == right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (1, 1.0),
        (0.5, Fraction(1, 2)),
        (Decimal("0.5"), 0.5),
        (2**80, float(2**80)),
        (1 + 0j, Decimal(1)),
        ({1, 2.0}, frozenset({2, True})),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": True}),
        ((1, 2), Point(1, 2)),
        (OrderedDict(a=1, b=2), {"b": 2, "a": 1}),
        (bytearray(b"x"), b"x"),
        (range(0), range(5, 5)),
        (range(0, 4, 2), range(0, 3, 2)),
        ({"a": 1}.keys(), {"a"}),
        (Decimal("0E+5000"), 0),
    ],
)
def test_equal_values_of_different_types_compare_equal(left, right):
    assert left == right
    assert both(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (0.1, Fraction(1, 10)),
        (Decimal("0.1"), 0.1),
        ([1], (1,)),
        ("1", 1),
        ("a", b"a"),
        (None, False),
        (None, "None"),
        ({}, set()),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (Decimal("1E+999999"), Decimal("1E+999998")),
    ],
)
def test_similar_looking_values_compare_unequal(left, right):
    assert left != right
    assert not both(left, right)


def test_ordered_dicts_are_compared_in_the_order_of_their_last_moves():
    moved = OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert both(moved, OrderedDict(b=2, a=1))
    assert not both(moved, OrderedDict(a=1, b=2))


def test_counters_ignore_zeros_only_when_compared_with_counters():
    assert both(Counter(a=1, b=0), Counter(a=1))
    assert not both(Counter(a=1, b=0), {"a": 1})


def test_nan_equals_nan_in_the_default_policy_only():
    assert both([math.nan, 1], [math.nan, 1])
    assert both(Decimal("NaN"), math.nan)
    assert not both([math.nan], [math.nan], "official")


def test_dict_values_are_compared_in_order_in_the_default_policy_only():
    assert both({"a": 1}.values(), {"b": 1}.values())
    assert not both({"a": 1}.values(), {"a": 1}.values(), "official")


class Chameleon(str):
    def __eq__(self, other):
        return True

    def __str__(self):
        raise AssertionError("a candidate's method ran")

    __repr__ = __str__
    __hash__ = str.__hash__


class Anything:
    def __eq__(self, other):
        return True

    __hash__ = None


def test_a_subclass_is_read_as_its_base_without_its_methods():
    assert encode(Chameleon("x")) == encode("x")
    assert not both(Chameleon("x"), "y")


@pytest.mark.parametrize("value", [Anything(), print, (n for n in "ab"), iter([]), [1, Anything()]])
def test_values_that_are_not_data_equal_nothing_even_themselves(value):
    assert not both(value, value)
    assert not comparable(encode(value).encode())


def test_arrays_compare_by_shape_and_elements_in_the_default_policy_only():
    numpy = pytest.importorskip("numpy")
    assert both(numpy.array([[1, 2]]), numpy.array([[1.0, 2.0]]))
    assert not both(numpy.array([[1, 2]]), numpy.array([1, 2]))
    assert not both(numpy.array([1, 2]), [1, 2])
    assert both(numpy.float32(0.5), 0.5)
    assert both(numpy.int64(3), 3)
    assert both(numpy.bool_(True), True)
    assert not both(numpy.array([1, 2]), numpy.array([1, 2]), "official")


def test_an_importable_class_equals_only_itself():
    assert both(object, object)
    assert not both(object, Decimal)


def test_data_frames_and_series_compare_by_column_names_index_and_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert both(frame, frame.copy())
    assert not both(frame, frame.rename(columns={"b": "c"}))
    assert not both(frame, frame.set_axis([5, 6]))
    assert not both(frame, frame.assign(a=[1, 3]))
    series = pandas.Series([1, 2])
    assert both(series, pandas.Series([1.0, 2.0]))
    assert not both(series, series.set_axis([5, 6]))
    assert not both(series, pandas.Series([1, 3]))


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic():
    value = []
    value.append(value)
    return value


def shared(depth):
    value = [1]
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value", [nested(101), cyclic(), shared(40), "x" * (1 << 20), [0] * 200_001]
)
def test_values_beyond_a_cap_are_refused(value):
    with pytest.raises(UnsupportedValueError):
        encode(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"list": 1}',
        b'{"set": 5}',
        b'{"dict": [[1]]}',
        b'{"a": 1, "b": 2}',
        b'{"decimal": "x"}',
        b'{"int": "zz"}',
        b'{"range": ["0x0", "0x1", "0x0"]}',
        b"[" * 5000 + b"]" * 5000,
        b"[" * 200_000,
        b"9" * 10_000,
        b"\xff",
    ],
)
def test_a_hostile_text_is_malformed_and_never_crashes(text):
    with pytest.raises(MalformedValueError):
        equal(text, b"1")
    with pytest.raises(MalformedValueError):
        comparable(text)


class Answers(type):
    """A metaclass that gives false answers to attribute lookups, and different ones over time."""

    asked = 0

    def __getattribute__(cls, name):
        Answers.asked += 1
        known = {"__module__": "builtins", "__qualname__": "int", "__name__": "int"}
        if name == "__mro__":
            return (int, object)
        return known.get(name) if Answers.asked > 1 else type.__getattribute__(cls, name)


class Pretender(metaclass=Answers):
    pass


def test_a_class_has_the_name_from_python_regardless_of_its_metaclass():
    Answers.asked = 0
    assert not both(Pretender, int)
    assert encode(Pretender()) == '{"opaque": "Pretender"}'


def test_an_exception_is_named_by_python_and_not_by_its_own_code():
    class Meta(type):
        __name__ = property(lambda cls: {}[cls])

    class Broken(Exception, metaclass=Meta):
        __class__ = property(lambda self: 1 / 0)

    class Text(str):
        def __format__(self, spec):
            raise SystemExit

    assert _described(Broken(Text("odd"))) == '"Broken: odd"'


def test_control_characters_in_a_type_name_never_reach_the_terminal():
    named = type("Odd", (), {})
    named.__qualname__ = "a\x1b[31m\u202eb"
    assert show(encode(named()).encode()) == "<a\ufffd[31m\ufffdb object>"
    line = b"error\t" + json.dumps("E\x1b]0;x").encode()
    assert parse_line(line).message == "E\ufffd]0;x"


def test_kind_accepts_only_the_types_that_the_sandbox_writes():
    assert kind(encode((1,)).encode()) == "tuple"
    for text in (b"{}", b'{"no such type": 1}', b"{"):
        with pytest.raises(MalformedValueError):
            kind(text)


@pytest.mark.parametrize("content", ["[]", "{}", '[["a"]]', "[[], 1]", '"a"', "7", "null"])
@pytest.mark.parametrize("tag", ["enum", "bytes", "date", "uuid", "type", "zone", "opaque", "x"])
def test_any_content_of_any_tag_can_be_shown(tag, content):
    assert show(f'{{"{tag}": {content}}}'.encode())


@pytest.mark.parametrize(
    "text",
    [
        b'{"counter": [[1, ' * 90 + b'{"counter": []}' + b"]]}" * 90,
        b'{"range": ["0x0", "0x%b", "0x1%b"]}' % (b"f" * 600_000, b"0" * 300_000),
        b"[%b1]" % (b'{"decimal": "1e4999"},' * 45_000),
    ],
)
@pytest.mark.usefixtures("soon")
def test_comparing_does_not_hang_on_a_long_text(text):
    assert not equal(b'{"counter": [[1, 2]]}', text)


@pytest.mark.usefixtures("soon")
def test_colliding_numbers_are_compared_without_hashing():
    colliding = [f'{{"int": "{n * (2**61 - 1):#x}"}}' for n in range(60_000)]
    forwards, backwards = ",".join(colliding), ",".join(reversed(colliding))
    assert equal(b'{"set": [%b]}' % forwards.encode(), b'{"set": [%b]}' % backwards.encode())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": (1,), 2: {3.5}}, "{'a': (1,), 2: {3.5}}"),
        (set(), "set()"),
        (b"ab", "b'ab'"),
        (2**70, str(2**70)),
        (Decimal("1.50"), "Decimal('1.50')"),
        (datetime.date(2024, 1, 2), "date(2024-01-02)"),
        ("a\nb", r"'a\nb'"),
        ("\ud800", r"'\ud800'"),
    ],
)
def test_values_are_shown_similarly_to_their_python_repr(value, shown):
    assert show(encode(value).encode()) == shown


def test_a_long_value_is_truncated():
    text = show(encode(list(range(100_000))).encode(), 40)
    assert len(text) == 40
    assert text.startswith("[0, 1, 2")
    assert text.endswith("…")
