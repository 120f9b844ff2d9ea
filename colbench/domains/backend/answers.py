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
_PYTHON_TAGS = frozenset({"python", "python3", "py", "py3"})
_MARKS = r"(?:`{3,}+|~{3,}+)"
_LEAD = r"^(?P<lead>[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+)"
"""The beginning of a line before a fence: spaces, and Markdown's markers of quotations and list items."""
_IN_LINE = rf"(?<![`~])(?={_MARKS}(?i:{'|'.join(sorted(_PYTHON_TAGS))})[ \t\r]*+\n)"
"""The position before a fence in the middle of a line; such a fence needs a Python tag."""
_FENCE = re.compile(
    rf"(?:{_LEAD}|{_IN_LINE})(?P<fence>{_MARKS})[ \t]*+(?P<tag>[\w+.-]*+)[^\n`]*+\n"
    r"(?P<code>.*?)(?:^[ \t>]*+(?P=fence)(?P<after>[^\n]*+)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LINE_END = re.compile(rf"({_MARKS})[ \t\r]*+$", re.MULTILINE)
_QUOTED = re.compile(r"^[ \t]*+>[ \t]?", re.MULTILINE)
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

    `official`: the text between the first "```python" and the next "```" or the end. If the answer has no "```python",
    the text begins after the first "```"; if it has no "```" either, the text is the whole answer.

    `default`: the code in the first fence with a Python tag, else in the first fence with a definition. Fences follow
    the rules of Markdown, but a tagged fence may also begin inside a line. If no fence has a tag or a definition, three
    texts are tried in this order: the `official` text, if the answer contains "```" and the text has a definition; the
    code in the first fence; the whole answer without the prose above its first definition. Common indentation is
    removed, except from a whole answer.
    """
    return _official(answer) if mode == "official" else _default(answer)


def banned_text(answer: str) -> str:
    """Return a string in the answer for which the released scorer gives 0; "" if the answer contains none."""
    return next((text for text in _BANNED if text in answer), "")


def _official(answer: str) -> str:
    for opening in _OPENINGS:
        _before, found, rest = answer.partition(opening)
        if found:
            return rest.partition(_CLOSING)[0].removeprefix("\n")
    return answer


def _default(answer: str) -> str:
    answer = answer.removeprefix("\ufeff")
    fences = list(_FENCE.finditer(answer))
    tagged = [fence for fence in fences if fence["tag"].lower() in _PYTHON_TAGS]
    codes = [textwrap.dedent(_inside(fence)) for fence in tagged[:1] or fences]
    code = next(filter(_DEFINITION.search, codes), codes[0] if codes else "")
    if tagged or _DEFINITION.search(code):
        return code
    official = textwrap.dedent(_official(answer))
    if _CLOSING in answer and _DEFINITION.search(official):
        return official
    return code if fences else _without_preface(answer)


def _inside(fence: re.Match[str]) -> str:
    """Return the code in a fenced block.

    If no line consists of a closing fence alone, the first closing fence at the end of a line of code ends the block.
    """
    code = fence["code"]
    if fence["after"] is None or fence["after"].strip(" \t\r`~"):
        ends = (end for end in _LINE_END.finditer(code) if end[1].startswith(fence["fence"]))
        end = next(ends, None)
        code = code[: end.start()] if end else code
    return _QUOTED.sub("", code) if ">" in (fence["lead"] or "") else code


def _without_preface(text: str) -> str:
    """Return the text after the last line of prose above the first definition; without such a line, the whole text."""
    definition = _DEFINITION.search(text)
    if definition is None:
        return text
    prose = list(_PROSE.finditer(text, 0, definition.start()))
    return text[prose[-1].end() :] if prose else text
