"""Example questions for the decisions of a family, in `NAME.txt`: `[decision]`, then one question a line.

An empty line stands before each `[decision]` but the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import msgspec

from colbench.errors import DataError
from colbench_tasks.family import Family


def with_examples(family: Family) -> Family:
    """The family, its decisions with the examples of its file, if there is one.

    Raises DataError that names the file and a decision which it leaves out.
    """
    file = files(__name__).joinpath(f"{family.name}.txt")
    if not file.is_file():
        return family
    names = [decision.name for decision in family.decisions]
    examples = questions(file.read_text("utf-8"), names, f"examples/{file.name}")
    decisions = tuple(
        msgspec.structs.replace(d, examples=examples[d.name]) for d in family.decisions
    )
    return msgspec.structs.replace(family, decisions=decisions)


def questions(text: str, names: Sequence[str], file: str) -> dict[str, tuple[str, ...]]:
    """What stands under each of the decisions named. Raises DataError as `with_examples` does."""
    parts = (block.partition("]\n") for block in text.strip().removeprefix("[").split("\n\n["))
    found = {name: tuple(lines.splitlines()) for name, _, lines in parts}
    for name in names:
        if not found.get(name):
            raise DataError(
                f"{file}: no questions for the decision {name}: it needs a line [{name}] with an empty line before it "
                "and its questions in the lines under it"
            )
    return found
