"""The cost of finding the hidden decision that a question asks for, compared with counting the words in common.

    python tests/benchmarks/bench_matching.py [--tasks 1000] [--questions 3]

Each question is an example question of a bundled task's decision. Words are added, so that no question occurs twice.
`first questions` are the first questions about all tasks, in a new process; they include the time to prepare the task
families. `a later question` is any other question. The baseline takes the decision whose examples have the most words
in common with the question.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from random import Random
from typing import NamedTuple

from bench import benchmark, main
from records import Quantity, Ratio, Round
from usage import in_fresh_process, now, peak_mb

from colbench.plugins import resolve_tasks
from colbench.registry import get_domain
from colbench.task import Fact, Task

WORD = re.compile(r"\w+")


class Question(NamedTuple):
    """A question about a task."""

    task: Task
    text: str


def ask(tasks: Sequence[Task], number: int) -> list[Question]:
    """Return a question about each task."""
    chance = Random(number)
    found = []
    for place, task in enumerate(tasks):
        fact = chance.choice([each for each in task.hidden.facts if each.examples])
        text = chance.choice(fact.examples).rstrip("?")
        found.append(Question(task, f"{text} in case {number}-{place}?"))
    return found


def by_domain(question: Question) -> tuple[Fact, ...]:
    """Return the decisions that the domain finds in a question."""
    return get_domain(question.task.domain).asked(question.task, question.text)


def by_overlap(question: Question) -> Fact:
    """Return the decision that has the most words in common with a question."""
    words = set(WORD.findall(question.text.lower()))
    return max(question.task.hidden.facts, key=lambda fact: _most_in_common(fact, words))


def _most_in_common(fact: Fact, words: set[str]) -> int:
    return max((len(words & each) for each in _words(fact.examples)), default=0)


@cache
def _words(examples: tuple[str, ...]) -> list[set[str]]:
    return [set(WORD.findall(each.lower())) for each in examples]


MATCHERS = {"matcher": by_domain, "words in common": by_overlap}


def match_questions(name: str, number: int, asked: int) -> Round:
    """Match all questions with one matcher."""
    tasks = [task for task in resolve_tasks("bundled:backend")[:number] if task.hidden.facts]
    rounds = [ask(tasks, each) for each in range(asked)]
    before = now()
    for question in rounds[0]:
        MATCHERS[name](question)
    first = now()
    for question in chain(*rounds[1:]):
        MATCHERS[name](question)
    spent = now() - first
    later = len(tasks) * (asked - 1)
    return {
        f"{name}: first questions": Quantity((first - before).own, "s"),
        f"{name}: a later question": Quantity(1000 * spent.own / later, "ms"),
        f"{name}: peak memory": Quantity(peak_mb(), "MB"),
    }


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument(
        "--questions", type=int, default=3, help="number of questions about each task, at least 2"
    )


@benchmark(
    "matching",
    ratios=[
        Ratio(
            f"matcher / words in common, {quantity}",
            f"matcher: {quantity}",
            f"words in common: {quantity}",
        )
        for quantity in ("first questions", "a later question")
    ],
    options=options,
    quick="--tasks 150",
)
def matching(given: Namespace) -> Iterator[Round]:
    """Match the same questions with both matchers, each in a fresh process."""
    for _ in range(given.rounds):
        found: Round = {}
        for name in MATCHERS:
            found |= in_fresh_process(match_questions, name, given.tasks, given.questions)
        yield found


if __name__ == "__main__":
    main(matching)
