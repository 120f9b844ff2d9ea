"""User-facing text is plain American English: it has none of the phrases in `TELLS`, which need a second reading.

The tests check the texts in the source (messages, help, labels, reports), the templates of pages, and the
documentation. They skip texts that are data: those of simulated humans, tasks and rule-based agents, and those in
records and receipts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("colbench", "agents", "leaderboard", "sweet_rl_trainer", "tasks")
DATA = (
    "agents/colbench_agents/designer/",
    "colbench/cli/datasheet/answers.py",
    "colbench/domains/backend/human/",
    "colbench/domains/frontend/human/",
    "colbench/facts/",
    "colbench/sandbox/agent/box.py",
    "leaderboard/colbench_leaderboard/verify/grid.py",
    "leaderboard/colbench_leaderboard/verify/tally.py",
    "sweet_rl_trainer/agents/no_answer.py",
    "tasks/colbench_tasks/families/",
    "tasks/colbench_tasks/frontend/",
    "tasks/colbench_tasks/generate.py",
    "tasks/examples/sql/colbench_sql/tasks.py",
)
TELLS = re.compile(
    r"""\b(?:
      (?<!there\ ) (?:is|are|was|were) \ (?:no|none) \b (?!\ longer|\ more)
    | anew | beside | told\ of | goes\ by | shut\ in | work(?:ed|s|ing)?\ off | asks?\ on | owed
    | put\ right | mend(?:s|ed|ing)? | goes\ on | whoever | likewise | as\ often\ as | what\ is\ of
    | one\ who | all\ the\ same | so\ (?:many|much) | not\ alike | take\ care | and\ yet
    | nobody | somebody | in\ the\ midst
    | licences? | (?:col|fav|behavi)our\w* | centre\w* | grey | (?:label|cancel)l(?:ed|ing) | judgement
    | (?:organ|recogn|normal|token|initial|summar)is(?:e|ed|es|ing|ation)
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
QUOTING = ("docs/frontend.md", "docs/study-predictions.md")
"""Pages with sentences of a simulated human, and with text that must not be edited."""
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
MARKUP = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)


def texts(source: str) -> Iterator[str]:
    """Yield the texts of a module that contain a space, except docstrings; f-strings without their expressions."""
    nodes = list(ast.walk(ast.parse(source)))
    strings = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    others = {id(part) for string in strings for part in ast.walk(string)}
    others |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (part for part in node.values if isinstance(part, ast.Constant))
            yield "…".join(str(part.value) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] * (id(node) not in others and " " in node.value)


def files(package: str, pattern: str) -> list[Path]:
    found = sorted((ROOT / package).rglob(pattern))
    return [path for path in found if not path.relative_to(ROOT).as_posix().startswith(DATA)]


@pytest.mark.parametrize("package", PACKAGES)
def test_texts_in_the_source_have_no_tells(package):
    found = [
        f"{path.relative_to(ROOT)}: {tell[0]}: {text}"
        for path in files(package, "*.py")
        for text in texts(path.read_text("utf-8"))
        if (tell := TELLS.search(text))
    ]
    assert found == []


@pytest.mark.parametrize("package", ["colbench", "leaderboard", "sweet_rl_trainer"])
def test_page_templates_have_no_tells(package):
    templates = {path: path.read_text("utf-8") for path in files(package, "*.html")}
    found = [
        f"{path.relative_to(ROOT)}: {tell[0]}"
        for path, text in templates.items()
        if (tell := TELLS.search(MARKUP.sub(" ", text)))
    ]
    assert templates
    assert found == []


def test_the_documentation_has_no_tells():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md*"), *ROOT.glob("[at]*/README.md")]
    names = {path.relative_to(ROOT).as_posix(): path for path in pages}
    assert {"README.md", "agents/README.md", "tasks/README.md", "docs/metrics.md"} <= names.keys()
    found = [
        f"{name}: {tell[0]}"
        for name, path in names.items()
        if name not in QUOTING
        for tell in TELLS.finditer(CODE.sub(" ", path.read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("runs/x is no run folder", "is no"),
        ("runs/x is no longer a run folder", None),
        ("there is no browser", None),
        ("the same in another COLOUR", "COLOUR"),
    ],
)
def test_a_tell_is_found(text, found):
    tell = TELLS.search(text)
    assert (tell and tell[0]) == found


def test_docstrings_and_expressions_are_not_checked():
    source = "def f(x):\n    'It is no text.'\n    return f\"a {x('is no text')} b\", 'a text'\n"
    assert list(texts(source)) == ["a … b", "a text"]
