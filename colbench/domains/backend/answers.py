"""The program in an answer: the part of the agent's message that is run.

The regular expressions run in the harness, so they are written to take linear time on any answer.
"""

from __future__ import annotations

import re
import textwrap

from colbench.config import ScoringMode

MAX_ANSWER = 200_000
"""Maximum length of an answer in characters; no realistic task needs a longer function."""
_OPENINGS = ("```python", "```")
_CLOSING = "```"
_FENCE = re.compile(
    r"^[ \t]*+```[ \t]*+(?P<tag>[\w+.-]*+)[^\n`]*+\n(?P<code>.*?)(?:^[ \t]*+```|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON_TAGS = frozenset({"python", "python3", "py", "py3"})
_DEFINITION = re.compile(
    r"^(?:def |class |async def |import |from [\w.]+ import |@\w)", re.MULTILINE
)
_PROSE = re.compile(
    r"^(?![A-Za-z_]\w*+[ \t]*+(?::[^=\n]+)?=|(?:try|else|finally):|(?:if|for|while|with|except) |\w+\()[A-Za-z].*$",
    re.MULTILINE,
)
_BANNED = (
    "import os",
    "from os",
    "import sys",
    "from sys",
    "sudo",
    "transformers",
    "exit(",
    "quit(",
    "argparse",
)


def extract_code(answer: str, mode: ScoringMode) -> str:
    """Extract the Python source from an answer.

    `official`: the text after the first "```python", else after the first "```", up to the next "```" or the end; the
    whole text if there is no fence. `default`: the same, but a fence must begin a line, other spellings of the tag
    count, and common indentation is removed. If there is no fence, prose above the first line of code is removed.
    """
    return _official(answer) if mode == "official" else _default(answer)


def banned_text(answer: str) -> str:
    """Return the first string in the answer that makes the released scorer give 0; "" if no such string occurs."""
    return next((text for text in _BANNED if text in answer), "")


def _official(answer: str) -> str:
    for opening in _OPENINGS:
        _before, found, rest = answer.partition(opening)
        if found:
            return rest.partition(_CLOSING)[0].removeprefix("\n")
    return answer


def _default(answer: str) -> str:
    fences = list(_FENCE.finditer(answer))
    tagged = [fence for fence in fences if fence["tag"].lower() in _PYTHON_TAGS]
    for fence in tagged or fences:
        return textwrap.dedent(fence["code"])
    return _without_preface(answer)


def _without_preface(text: str) -> str:
    """Return the text after the last line of prose above the first definition."""
    definition = _DEFINITION.search(text)
    if definition is None:
        return text
    prose = list(_PROSE.finditer(text, 0, definition.start()))
    return text[prose[-1].end() :] if prose else text
