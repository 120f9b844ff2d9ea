"""The notation in which families are written."""

from __future__ import annotations

import pytest

from colbench.errors import DataError
from colbench_tasks.family import Decision, Option
from colbench_tasks.notation import decisions, examples, requests, themes

TEXT = """
cap: maximum, ceiling,
  upper limit
? Is there a maximum?
? Is it capped?
- At most $value cents.
/ Never more than $value cents.
= 10 2.5 high
> if fee > $value:
>     fee = $value
- No maximum.

unit: unit
? What unit?
- $value grams.
= 5
"""

EXAMPLES = "[price]\nWhat is it?\nHow much?\n\n[big]\nAnd many?\n"


def test_a_decision_is_read_with_its_topics_questions_options_values_and_code() -> None:
    cap, unit = decisions(TEXT)
    assert cap == Decision(
        "cap",
        ("maximum", "ceiling", "upper limit"),
        ("Is there a maximum?", "Is it capped?"),
        (
            Option(
                ("At most $value cents.", "Never more than $value cents."),
                "if fee > $value:\n    fee = $value",
                (10, 2.5, "high"),
            ),
            Option(("No maximum.",), "", ()),
        ),
    )
    assert unit.options == (Option(("$value grams.",), "$value", (5,)),)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("no colon here", "no colon here"),
        ("cap: a\n? Is it?\n/ Too early.", "Too early"),
        ("cap: a\n? Is it?\n- Yes.\n! What is this?", "What is this"),
        ("cap: a\n- Yes.\n? Is it?", r"Is it.*put questions \(`\? `\) before all options"),
    ],
)
def test_an_invalid_line_is_named(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        decisions(text)


def test_themes_are_a_table_and_requests_are_blocks_of_wordings() -> None:
    assert themes("function | x\npay | eggs\ncost | ducks") == (
        {"function": "pay", "x": "eggs"},
        {"function": "cost", "x": "ducks"},
    )
    assert requests("\nOne.\nOr one.\n\nTwo.\n") == (("One.", "Or one."), ("Two.",))
    with pytest.raises(ValueError, match=r"^themes: expected 2 columns, found 1: pay$"):
        themes("function | x\npay")


def test_each_decision_gets_the_questions_under_its_heading() -> None:
    found = examples(EXAMPLES, ["price", "big"], "eggs/examples.txt")
    assert found == {"price": ("What is it?", "How much?"), "big": ("And many?",)}


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLES.partition("\n\n")[0],
        EXAMPLES.replace("\n\n[", "\n["),
        EXAMPLES.replace("[big]", "[small]"),
        EXAMPLES.replace("\nAnd many?", ""),
        EXAMPLES.replace("[big]", "big"),
    ],
    ids=["left out", "no empty line", "another name", "no question", "no brackets"],
)
def test_a_decision_without_questions_is_named_with_its_file(text: str) -> None:
    with pytest.raises(DataError, match=r"^eggs/examples.txt: no questions for the decision big:"):
        examples(text, ["price", "big"], "eggs/examples.txt")
