"""The short notation for families; docs/new-family.md shows it with an example.

    name: topic, another topic,         a decision; the topics may continue
      a third topic                     on indented lines
    ? A plain question about it?        one or more
    - A sentence that decides it.       an option: the words of the human
    / The same in other words.          any number
    = 15 5 10 20                        the values of $value, the usual one first
    > line of code                      any number; by default, the code is the value, or empty if there are no values

Decisions are separated by empty lines. The usual option comes first.

Example questions are in a separate file: a line `[name]` for each decision, its questions below, one on each line,
and an empty line before the next decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from colbench.errors import DataError
from colbench_tasks.family import Decision, Option, Theme, Value

HEAD = re.compile(r"(\w+): (.+)")


def decisions(text: str) -> tuple[Decision, ...]:
    """Read the decisions of a family. Raises ValueError, which names the line, if a line does not fit the notation."""
    return tuple(_decision(block.splitlines()) for block in _blocks(text))


def themes(text: str) -> tuple[Theme, ...]:
    """Read a table of themes with `|` between the columns; the first row contains the keys.

    Raises ValueError, which shows the row, if a row has more or fewer columns than the first row.
    """
    keys, *rows = ([cell.strip() for cell in line.split("|")] for line in text.strip().splitlines())
    for row in rows:
        if len(row) != len(keys):
            raise ValueError(
                f"themes: expected {len(keys)} columns, found {len(row)}: {' | '.join(row)}"
            )
    return tuple(dict(zip(keys, row, strict=True)) for row in rows)


def requests(text: str) -> tuple[tuple[str, ...], ...]:
    """Read the sentences of a request. A blank line separates sentences; each line is one wording of its sentence."""
    return tuple(tuple(block.splitlines()) for block in _blocks(text))


def examples(text: str, names: Sequence[str], file: str) -> dict[str, tuple[str, ...]]:
    """Read the example questions of all decisions, by the decision's name.

    Raises DataError, which names the file, if a decision in `names` has no questions.
    """
    parts = (block.partition("]\n") for block in text.strip().removeprefix("[").split("\n\n["))
    found = {name: tuple(lines.splitlines()) for name, _, lines in parts}
    for name in names:
        if not found.get(name):
            raise DataError(
                f"{file}: no questions for the decision {name}: add an empty line, a line [{name}], and the questions, "
                "each on a line below"
            )
    return found


def _blocks(text: str) -> list[str]:
    return re.sub(r",\n +", ", ", text.strip()).split("\n\n")


def _decision(lines: list[str]) -> Decision:
    head = HEAD.fullmatch(lines[0])
    if not head:
        raise ValueError(f"expected `name: topic, topic`, found {lines[0]!r}")
    asks = tuple(line[2:] for line in lines if line.startswith("? "))
    options: list[list[str]] = []
    for line in lines[1 + len(asks) :]:
        if line.startswith("- "):
            options.append([])
        elif not options or line[:2].rstrip() not in ("/", "=", ">"):
            raise ValueError(
                f"{head[1]}: {line!r} is not part of an option; begin an option with `- `, and each "
                "further line of it with `/ `, `= ` or `> `; put questions (`? `) before all options"
            )
        options[-1].append(line)
    topics = tuple(head[2].split(", "))
    return Decision(head[1], topics, asks, tuple(map(_option, options)))


def _option(lines: list[str]) -> Option:
    says = tuple(line[2:] for line in lines if line[0] in "-/")
    values = tuple(_value(word) for line in lines if line[0] == "=" for word in line[2:].split())
    code = [line[2:] for line in lines if line[0] == ">"]
    return Option(says, "\n".join(code) if code or not values else "$value", values)


def _value(word: str) -> Value:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
