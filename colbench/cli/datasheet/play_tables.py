"""Two tables of the results of the dialogues in `plays`: one by family, and one by decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from colbench.cli.datasheet.plays import FITTED, Forbidden, Played
from colbench.markdown import table
from colbench.numbers import count, percent

HEAD = (
    "family",
    "tasks",
    "constant policy",
    "usual choices",
    "interviewer",
    "one decision forbidden",
    "expected",
)


def play_tables(played: Sequence[Played]) -> Iterator[str]:
    """Yield a paragraph and the table by family, then a sentence and the table by decision."""
    forbidden = [one for each in played for one in each.forbidden]
    agree = sum(one.solved == one.usual for one in forbidden)
    yield (
        f"Success on the first {count(len(played), 'task')}, by agent:\n\n"
        "- *Constant policy*: asks nothing. For each open decision, it looks at this set's tasks of the same "
        "family that leave this decision open, and takes their most frequent choice. Families with fewer than "
        f"{FITTED} tasks are left out (–), because the policy would be fitted to so few tasks.\n"
        "- *Usual choices*: `interviewer` without questions. It assumes the usual choice of each decision.\n"
        "- *Interviewer*: `interviewer` with all its questions.\n"
        f"- *One decision forbidden*: one dialogue for each hidden decision of each task ({len(forbidden):,} "
        "dialogues), in which `interviewer` may not ask about this decision and assumes its usual choice. It should "
        "succeed if and only if the task's choice is the usual one; *expected* is the share of dialogues with a usual "
        f"choice. {agree:,} dialogues succeeded or failed as expected."
    )
    families = sorted({each.family for each in played})
    by_family = [(name, [each for each in played if each.family == name]) for name in families]
    yield table(HEAD, [_summary("**all**", played), *(_summary(*each) for each in by_family)])
    yield "By decision, over the tasks that hide it:"
    rows = [row for name, each in by_family for row in _by_decision(name, each)]
    yield table(("decision", "tasks", "success when forbidden", "expected"), rows)


def _summary(name: str, played: Sequence[Played]) -> tuple[str, ...]:
    forbidden = [one for each in played for one in each.forbidden]
    return (
        name,
        f"{len(played):,}",
        _constant([each.constant for each in played]),
        _share(each.usual for each in played),
        _share(each.asked for each in played),
        _share(one.solved for one in forbidden),
        _share(one.usual for one in forbidden),
    )


def _by_decision(family: str, played: Sequence[Played]) -> Iterator[tuple[str, ...]]:
    def name(one: Forbidden) -> str:
        return one.decision

    every = sorted((one for each in played for one in each.forbidden), key=name)
    for decision, group in groupby(every, key=name):
        ones = list(group)
        yield (
            f"{family}.{decision}",
            f"{len(ones):,}",
            _share(one.solved for one in ones),
            _share(one.usual for one in ones),
        )


def _constant(solved: Sequence[bool | None]) -> str:
    known = [each for each in solved if each is not None]
    return percent(None) if len(known) < len(solved) else _share(known)


def _share(true: Iterable[bool]) -> str:
    values = list(true)
    return percent(sum(values) / len(values) if values else None)
