"""Markdown text and tables of reports."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sweet_rl_trainer.study.text import escape, table

PRINTED = st.text(
    st.characters(exclude_categories=("C", "Z"), include_characters=" |`\\<&*_[]()#$~!")
)


def cell(markdown):
    """Return the text that a reader sees in the only cell of a table, according to a Markdown parser."""
    page = MarkdownIt("commonmark").enable("table").render(table(["head"], [[markdown]]))
    assert page.count("<td>") == 1
    return re.fullmatch(r"(?s).*<td>(.*)</td>.*", page)[1]


@given(PRINTED)
def test_escaped_text_is_rendered_unchanged(text):
    assert unescape(cell(escape(text))) == " ".join(text.split())


def test_several_lines_become_one_line():
    assert escape("a\n| b |\n---") == r"a \| b \| ---"


def test_columns_with_a_trailing_space_in_the_head_are_right_aligned():
    page = MarkdownIt("commonmark").enable("table").render(table(["name", "much "], [["a", "1"]]))
    assert "<th>name</th>" in page
    assert '<td style="text-align:right">1</td>' in page
