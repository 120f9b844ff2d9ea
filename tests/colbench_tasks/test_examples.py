"""The files of example questions: what their mistakes look like to whoever writes one."""

from __future__ import annotations

import pytest

from colbench.errors import DataError
from colbench_tasks.examples import questions

GOOD = "[price]\nWhat is it?\nHow much?\n\n[big]\nAnd many?\n"


def test_each_decision_has_the_lines_under_it() -> None:
    found = questions(GOOD, ["price", "big"], "examples/eggs.txt")
    assert found == {"price": ("What is it?", "How much?"), "big": ("And many?",)}


@pytest.mark.parametrize(
    "text",
    [
        GOOD.partition("\n\n")[0],
        GOOD.replace("\n\n[", "\n["),
        GOOD.replace("[big]", "[small]"),
        GOOD.replace("\nAnd many?", ""),
        GOOD.replace("[big]", "big"),
    ],
    ids=["left out", "no empty line", "another name", "no question", "no brackets"],
)
def test_a_decision_without_questions_is_named_with_its_file(text: str) -> None:
    with pytest.raises(DataError, match=r"^examples/eggs.txt: no questions for the decision big:"):
        questions(text, ["price", "big"], "examples/eggs.txt")
