"""Example questions for the decisions of a family, in `NAME.txt`: `[decision]`, then one question a line."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from colbench_tasks.family import Family


def with_examples(family: Family) -> Family:
    """The family, its decisions with the examples of its file, if there is one.

    Raises KeyError for a decision that the file leaves out.
    """
    file = files(__name__).joinpath(f"{family.name}.txt")
    if not file.is_file():
        return family
    text = file.read_text("utf-8")
    blocks = dict(block.split("]\n", 1) for block in text.strip().removeprefix("[").split("\n\n["))
    decisions = tuple(
        msgspec.structs.replace(d, examples=tuple(blocks[d.name].splitlines()))
        for d in family.decisions
    )
    return msgspec.structs.replace(family, decisions=decisions)
