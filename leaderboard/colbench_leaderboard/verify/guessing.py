"""Probabilities of guessing a hidden decision, measured on the receiver's own tasks.

A guesser who knows how often each choice of a decision occurs takes the most frequent one. The share of tasks on which
this choice is right is measured for each decision of each family, and shrunk toward one half by Laplace's rule of
succession, so that a few tasks prove little. A decision that no installed package knows has at least two choices, so
the probability of guessing it is taken to be one half.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable

from colbench.plugins import find_design
from colbench.task import Fact, Task

HALF = 0.5
"""The probability of guessing a decision about which nothing is known."""


class GuessRates:
    """The probabilities of guessing the decisions of the given tasks without asking."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        choices: defaultdict[tuple[str, str], Counter[Hashable]] = defaultdict(Counter)
        for task in tasks:
            design = find_design(task)
            for name, choice in design.chosen.items() if design else ():
                choices[task.family, name][choice] += 1
        self._rates = {
            decision: (max(counts.values()) + 1) / (counts.total() + 2)
            for decision, counts in choices.items()
        }

    def rate(self, task: Task, fact: Fact) -> float:
        """Return the probability that the best guess of a fact of a task is right."""
        return self._rates.get((task.family, fact.name), HALF)
