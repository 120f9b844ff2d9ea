from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from colbench.stats import Interval
from sweet_rl_trainer.study.text import (
    chance,
    code,
    count,
    duration,
    escape,
    listed,
    memory,
    number,
    percent,
    plain,
    points,
    rate,
    signed,
    table,
)

PRINTED = st.text(
    st.characters(exclude_categories=("C", "Z"), include_characters=" |`\\<&*_[]()#$~!")
)


def cell(markdown):
    """What a reader sees in the only cell of a table, as a Markdown parser has it."""
    page = MarkdownIt("commonmark").enable("table").render(table(["head"], [[markdown]]))
    assert page.count("<td>") == 1
    return re.fullmatch(r"(?s).*<td>(.*)</td>.*", page)[1]


def between(low, mean, high, method="bootstrap"):
    return Interval(mean=mean, low=low, high=high, method=method)


@given(PRINTED)
def test_text_from_outside_stays_text(text):
    assert unescape(cell(escape(text))) == " ".join(text.split())


@given(PRINTED.filter(str.strip))
def test_code_from_outside_stays_code(text):
    shown = cell(code(text))
    assert unescape(re.fullmatch("<code>(.*)</code>", shown)[1]) == " ".join(text.split())


def test_lines_of_a_text_become_one():
    assert escape("a\n| b |\n---") == r"a \| b \| ---"
    assert code("") == "–"


def test_shares_and_their_intervals():
    assert rate(between(0.391, 0.423, 0.4542)) == "42.3 % (39.1 to 45.4)"
    assert rate(between(0.0, 0.0, 0.036, "exact")) == "0.0 % (0.0 to 3.6, exact)"
    assert rate(between(None, None, None, "none")) == "–"
    assert points(between(-0.02, -0.012, 0.004)) == "−1.2 (−2.0 to +0.4)"
    assert points(between(None, None, None, "none")) == "–"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.04, "0.0"), (-0.04, "0.0"), (0.06, "+0.1"), (float("nan"), "–")]
)
def test_a_sign_stands_only_where_there_is_one(value, shown):
    assert signed(value) == shown


def test_numbers_in_words():
    assert [duration(each) for each in (0.44, 42.4, 200, 7500)] == [
        "0.4 s",
        "42 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
    assert [memory(each) for each in (None, 640 * 2**20, 3 * 2**29)] == ["–", "640 MiB", "1.5 GiB"]
    assert [chance(each) for each in (None, 0.0004, 0.0124)] == ["–", "< 0.001", "0.012"]
    assert [percent(each) for each in (None, float("nan"), 0.4231)] == ["–", "–", "42.3 %"]
    assert [number(each) for each in (None, 1234.56)] == ["–", "1,234.6"]
    assert [count(each, "seed") for each in (1, 2000)] == ["1 seed", "2,000 seeds"]
    assert listed(["a"]) + listed(["a", "b", "c"]) == "aa, b and c"


def test_settings_as_text():
    values = [
        True,
        3_000_000,
        3e-4,
        [1, "b"],
        [],
        None,
        "",
        {},
        {"a": 1, "b": []},
        [{"a": 1}, {"b": 2}],
    ]
    assert [plain(each) for each in values] == [
        "yes",
        "3,000,000",
        "0.0003",
        "1, b",
        "none",
        "none",
        "none",
        "none",
        "a = 1, b = none",
        "a = 1; b = 2",
    ]


def test_columns_of_numbers_stand_on_the_right():
    page = MarkdownIt("commonmark").enable("table").render(table(["name", "much "], [["a", "1"]]))
    assert "<th>name</th>" in page
    assert '<td style="text-align:right">1</td>' in page
