"""The human with facts, tested with wordings that are not among its examples.

`python tests/colbench/test_facts_held_out.py FILE.jsonl …` measures files of held-out questions, by family. A row is
`{"family", "fact", "kind", "question"}`. For an unrelated question, `fact` is null and `kind` is "unrelated". The key
`"function"`, if present, restricts a row to tasks of that function. Two shares are measured over all tasks of
`bundled:backend/test`: the share of questions about a hidden decision that get its fact, and the share of unrelated
questions that get no fact at all.

The authors of the files saw only requests and statements, not topics and examples. Since then, examples and constants
were tuned with most of the files, and many of their questions are among the examples now. These files prevent
regressions, but prove no more than that. One constant (`facts.ENOUGH`) was chosen with `held_out_threshold.jsonl`; none
of its questions is an example. `held_out_unseen.jsonl` was never used for a change, so it is the actual measure.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from colbench.facts.human import answer
from colbench.task import Task
from colbench_tasks.bundled import load

FLOORS = {
    "held_out_questions": {
        "plain": 99,
        "assistant": 98,
        "after": 97,
        "remote": 70,
        "unrelated": 98,
    },
    "held_out_plain": {"plain": 99, "unrelated": 98},
    "held_out_final": {"plain": 99, "unrelated": 98},
    "held_out_people": {"plain": 99, "unrelated": 98},
    "held_out_threshold": {"plain": 99, "unrelated": 95},
    "held_out_unseen": {"plain": 99, "unrelated": 98},
}
"""Minimum percentage of right replies, by file and kind. Measured on the last file: 99.4 and 98.9."""

SPARSE = 3
"""The tests take every third task; the command takes all."""

Row = Mapping[str, Any]


class Result(Struct, frozen=True, kw_only=True):
    """The result of one question to the human of one task."""

    family: str
    kind: str
    right: bool
    """True if the reply contains the fact that was asked for or, for an unrelated question, no fact."""


def read(paths: Iterable[Path]) -> list[Row]:
    """Return the rows of some files."""
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def results(tasks: Iterable[Task], rows: Sequence[Row]) -> Iterator[Result]:
    """Ask each task the questions of its family. Yield the results for hidden decisions and unrelated questions."""
    by_family: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_family[row["family"]].append(row)
    for task in tasks:
        for row in by_family[task.family]:
            if row.get("function") in (None, task.function_name):
                yield from _results(task, row)


def _results(task: Task, row: Row) -> Iterator[Result]:
    reply = answer(task, row["question"])
    said = {fact.name for fact in task.hidden.facts if fact.statement in reply}
    hidden = {fact.name for fact in task.hidden.facts if not fact.stated}
    if row["fact"] is None:
        yield Result(family=task.family, kind=row["kind"], right=not said)
    elif row["fact"] in hidden:
        yield Result(family=task.family, kind=row["kind"], right=row["fact"] in said)


def share(flags: Iterable[bool]) -> float:
    """Return the percentage of true values; NaN if there are no values."""
    values = list(flags)
    return 100 * sum(values) / len(values) if values else float("nan")


def main(paths: Sequence[str]) -> None:
    """Print the shares by kind of question, for all families together and for each family."""
    found = list(results(load("backend/test"), read(map(Path, paths))))
    kinds = list(dict.fromkeys(one.kind for one in found))
    families = sorted({one.family for one in found})
    print(f"{'':14}" + "".join(f"{kind:>11}" for kind in kinds))
    for family in ("all", *families):
        here = [one for one in found if family in ("all", one.family)]
        shares = [share(one.right for one in here if one.kind == kind) for kind in kinds]
        print(f"{family:14}" + "".join(f"{value:>10.1f}%" for value in shares))
    counts = {kind: sum(one.kind == kind for one in found) for kind in kinds}
    print("questions: " + ", ".join(f"{kind} {number:,}" for kind, number in counts.items()))


@pytest.mark.parametrize(
    "name",
    [
        "held_out_unseen",
        *(
            pytest.param(name, marks=pytest.mark.weekly)
            for name in FLOORS
            if name != "held_out_unseen"
        ),
    ],
)
def test_questions_in_new_wordings_get_their_fact_and_unrelated_ones_get_none(name: str) -> None:
    rows = read([Path(__file__).with_name(f"{name}.jsonl")])
    found = list(results(load("backend/test")[::SPARSE], rows))
    for kind, floor in FLOORS[name].items():
        assert share(one.right for one in found if one.kind == kind) >= floor, kind


if __name__ == "__main__":
    main(sys.argv[1:])
