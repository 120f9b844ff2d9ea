"""Validation errors in plain words: the key, what was expected, and what was given."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from colbench.config_errors import explain, misspelled


class Inner(Struct, forbid_unknown_fields=True):
    name: str
    rate: Annotated[float, Meta(gt=0)] = 1.0
    kind: Literal["fast", "slow", "off"] = "fast"


class Outer(Struct, forbid_unknown_fields=True):
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = {}
    pair: tuple[float, float] | None = None
    count: int | None = None
    mixed: str | int | float = 0
    on: bool = False
    parts: int | Literal["auto"] = 1


def problem(values: Any, kind: Any = Outer, **options: Any) -> Any:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(values, kind)
    return explain(caught.value, kind, values, **options)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": "x"}, "count: expected a whole number, got x"),
        ({"parts": "x"}, "parts: expected a whole number or auto, got x"),
        ({"on": 2}, "on: expected true or false, got 2"),
        ({"pair": [1]}, "pair: expected two values, got 1"),
        ({"mixed": []}, "mixed: expected a number or a string, got []"),
        ({"inner": {"name": "a", "rate": 0}}, "inner.rate: expected a number > 0.0, got 0"),
        (
            {"inner": {"name": "a", "kind": "quick"}},
            "inner.kind: expected fast, off or slow, got quick",
        ),
        (
            {"many": [{"name": "a"}, {"nmae": "b"}]},
            "many[1].nmae: unknown key; did you mean `name`?",
        ),
        ({"many": [{}]}, "many[0].name: required, but missing"),
        ({"by_name": {"a": {"name": 3}}}, "by_name[...].name: expected a string"),
        ({"xyz": 1}, "xyz: unknown key"),
        ({"inner": 3}, "inner: expected a table, got 3"),
        ({"count": "x" * 200}, f"count: expected a whole number, got {'x' * 79}…"),
        (3, "expected a table, got 3"),
    ],
)
def test_a_problem_names_the_key_the_reason_and_the_value(values, message):
    assert str(problem(values)) == message


def test_a_problem_in_a_table_of_a_file_names_the_table():
    found = problem({"rate": 0, "name": "a"}, Inner, table="train")
    assert (found.key, found.field) == ("train.rate", "train")
    assert str(problem([], Inner, table="train")) == "train: expected a table, got []"


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("test_case", "test_cases"),
        ("groundtruth", "ground_truth"),
        ("hiden_information", "hidden_information"),
        ("idx", None),
        ("answer", None),
        ("description", None),
    ],
)
def test_a_misspelling_is_distinguished_from_a_different_name(name, right):
    known = ("problem_description", "ground_truth", "test_cases", "hidden_information", "id")
    assert misspelled(name, known) == right
