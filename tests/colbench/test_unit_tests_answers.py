"""Extraction of the part of an answer that is run."""

from __future__ import annotations

import pytest

from colbench.domains.backend.answers import banned_text, extract_code

CODE = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{CODE}```",
        f"Sure! Here it is:\n\n```python\n{CODE}```\nI hope this helps ```x```.",
        f"```text\nnot this\n```\n```python\n{CODE}```\n```python\nnor this\n```",
        f"```\n{CODE}```\n```\nnot this\n```",
    ],
)
def test_both_modes_take_the_first_python_fence_else_the_first_fence(answer):
    assert extract_code(answer, "official").strip() == CODE.strip()
    assert extract_code(answer, "default").strip() == CODE.strip()


@pytest.mark.parametrize(
    ("answer", "official"),
    [
        (f"Here:\n```py\n{CODE}```", f"py\n{CODE}"),
        (f"Here:\n```Python3\n{CODE}```", f"Python3\n{CODE}"),
        (
            "1. The code:\n   ```python\n   def f(x):\n       return x\n   ```",
            "   def f(x):\n       return x\n   ",
        ),
        (f"Here is the function:\n\n{CODE}", f"Here is the function:\n\n{CODE}"),
    ],
)
def test_the_default_mode_is_lenient_about_fences_and_prefaces(answer, official):
    assert extract_code(answer, "default").strip() == CODE.strip()
    assert extract_code(answer, "official") == official


@pytest.mark.parametrize(
    "answer",
    [
        f"Here is the function: ```python\n{CODE}```\nUsage:\n```python\nf(1)\n```",
        f"Here is the function: ```\n{CODE}```",
        "```python\ndef f(x):\n    return x```\nDone. Usage:\n```python\nf(1)\n```",
        f"````python\n{CODE}````\nIn a message, write ```x```.",
        f"~~~python\n{CODE}~~~",
        f"\ufeff```python\n{CODE}```",
        "> ```python\n> def f(x):\n>     return x\n> ```",
        "- ```python\n  def f(x):\n      return x\n  ```",
        "1. The code: ```python\n   def f(x):\n       return x\n   ```",
        f"Use ```python fences, as in\n```\n{CODE}```",
        f'```json\n{{"units": "cm"}}\n```\nThe function:\n```\n{CODE}```',
    ],
)
def test_the_default_mode_finds_every_kind_of_fence(answer):
    assert extract_code(answer, "default").strip() == CODE.strip()


def test_a_fence_inside_a_closed_fence_belongs_to_the_code():
    code = 'def f(x):\n    """Return ```x```\n    """\n    return x\n'
    assert extract_code(f"```python\n{code}```", "default") == code


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{CODE}",
        f"Here it is:\n```python\n{CODE}",
        f"```\n{CODE}",
        f"Not `x` but\n```\n{CODE}",
        f"```text\nnot this\n```\n```python\n{CODE}",
    ],
)
def test_an_unclosed_fence_extends_to_the_end(answer):
    assert extract_code(answer, "official") == CODE
    assert extract_code(answer, "default") == CODE


def test_a_fenced_answer_is_the_same_program_in_both_modes():
    answer = f"Here it is:\n```python\n{CODE}```\nDone."
    assert extract_code(answer, "official") == extract_code(answer, "default") == CODE


@pytest.mark.parametrize(
    "answer",
    [
        CODE,
        f"LIMIT = 3\n\n{CODE}",
        f"# a comment\nLIMIT: int = 3\n{CODE}",
        f'"""Docstring of the module."""\nimport math\n{CODE}',
        f"try:\n    import numpy as np\nexcept ImportError:\n    np = None\n{CODE}",
        "f = lambda x: x",
        "nothing here is code",
        "",
    ],
)
def test_an_answer_without_a_fence_or_preface_is_unchanged(answer):
    assert extract_code(answer, "default") == answer
    assert extract_code(answer, "official") == answer


@pytest.mark.parametrize(
    "answer",
    [
        "```" + "a" * 200_000,
        "`" * 200_000 + "\ndef f(x): pass",
        "~" * 200_000 + "\ndef f(x): pass",
        "x```python\ny```\n" * 13_000,
        "````\n```\n" * 22_000,
        "> - 1. " * 28_000,
        "```" + " " * 200_000,
        "```python" * 22_000,
        "```python\n" * 20_000,
        "x:\n" * 66_000 + "def f(x): pass",
        "x" * 199_000 + "\ndef f(x): pass",
        "x \n" * 66_000 + "def f(x): pass",
        " \t" * 99_000 + "\ndef f(x): pass",
    ],
)
@pytest.mark.usefixtures("soon")
def test_extraction_does_not_hang_on_a_long_answer(answer):
    extract_code(answer, "default")
    extract_code(answer, "official")


def test_a_banned_text_of_an_answer_is_returned():
    assert banned_text("def f():\n    import os\n    exit()") == "import os"
    assert banned_text(CODE) == ""
