"""The human with facts on wordings that are not among its examples.

`python tests/colbench/test_facts_held_out.py FILE.jsonl …` measures files of held-out questions, by family. A row is
`{"family", "fact", "kind", "question"}`, `fact` null and `kind` "unrelated" for an unrelated question, and `"function"`
if only tasks of that function are meant. Two shares are measured over all tasks of `bundled:backend/test`: the share of
questions about a hidden decision that get its fact, and the share of unrelated questions that get no fact at all.

The files were written from requests and statements alone, without topics and examples in sight. Examples and
constants were tuned with most of them since, and many of their questions are among the examples now: they guard what
was reached and prove no more than that. One constant (`facts.ENOUGH`) was chosen with `held_out_threshold.jsonl`, of
which no question is an example. No change has seen `held_out_unseen.jsonl`: it is the measure.
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
"""Percent of right replies, by file and kind. Measured on the last: 99.4, 98.9."""

SPARSE = 3
"""The tests take every third task; the command takes all."""

Row = Mapping[str, Any]


class Heard(Struct, frozen=True, kw_only=True):
    """The result of one question to the human of one task."""

    family: str
    kind: str
    right: bool
    """True if the reply contains the fact that was asked for or, for an unrelated question, no fact."""


def read(paths: Iterable[Path]) -> list[Row]:
    """Return the rows of some files."""
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def heard(tasks: Iterable[Task], rows: Sequence[Row]) -> Iterator[Heard]:
    """Yield every question, put to every task of its family, for every hidden decision that it is meant to test."""
    by_family: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_family[row["family"]].append(row)
    for task in tasks:
        for row in by_family[task.family]:
            if row.get("function") in (None, task.function_name):
                yield from _heard(task, row)


def _heard(task: Task, row: Row) -> Iterator[Heard]:
    reply = answer(task, row["question"])
    said = {fact.name for fact in task.hidden.facts if fact.statement in reply}
    hidden = {fact.name for fact in task.hidden.facts if not fact.stated}
    if row["fact"] is None:
        yield Heard(family=task.family, kind=row["kind"], right=not said)
    elif row["fact"] in hidden:
        yield Heard(family=task.family, kind=row["kind"], right=row["fact"] in said)


def share(all_heard: Iterable[bool]) -> float:
    """Return the share of what is true, in percent; NaN of nothing."""
    values = list(all_heard)
    return 100 * sum(values) / len(values) if values else float("nan")


def main(paths: Sequence[str]) -> None:
    """Print the shares by kind of question, of all families and of each."""
    found = list(heard(load("backend/test"), read(map(Path, paths))))
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
def test_a_question_in_a_new_wording_gets_its_fact_and_an_unrelated_one_does_not(name: str) -> None:
    rows = read([Path(__file__).with_name(f"{name}.jsonl")])
    found = list(heard(load("backend/test")[::SPARSE], rows))
    for kind, floor in FLOORS[name].items():
        assert share(one.right for one in found if one.kind == kind) >= floor, kind


if __name__ == "__main__":
    main(sys.argv[1:])
