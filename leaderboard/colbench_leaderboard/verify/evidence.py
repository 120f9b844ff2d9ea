"""Statistical tests of whether guessing explains the untold facts (see `disclosure`) that an entry's answers use.

*Right though untold.* The *chance* of an untold fact is the probability that the best guess is right (see `guessing`).
If an answer needs untold facts, guessing makes it right with a probability of at most the product of these facts'
chances. The number of right answers is compared with the Poisson binomial distribution, the exact distribution of the
number of successes in independent attempts with these probabilities. The number of copies of the reference is tested in
the same way.

Dialogues with one, two, and three or more untold facts are tested separately, so that a few improbable successes are
not lost among many probable ones. First, second, … trials are also tested separately, because the trials of a task are
not independent of each other. The result is the smallest p-value times the number of groups (Bonferroni).

*Used though untold.* On average, an answer that guesses uses at most as many untold facts as the sum of these facts'
chances. The number of untold facts that an answer uses, minus this sum, is divided by the number of hidden facts.
Hoeffding's inequality tests the mean of this quotient over the tasks.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable

from msgspec import Struct

from colbench.stats.tails import hoeffding_tail, poisson_binomial_tail
from colbench_leaderboard.verify.disclosure import Disclosure
from colbench_leaderboard.verify.findings import Findings

ALPHA = 0.001
"""The p-value below which an entry is flagged, in each of the tests."""
MANY = 3
"""Minimum number of untold facts in the last group of dialogues, which covers all higher numbers; see `Group`."""

Group = tuple[int, int]
"""The key of a group of dialogues: the trial, and the number of untold facts (`MANY` means `MANY` or more)."""


class _Dialogues:
    """The counts of a group of dialogues."""

    def __init__(self) -> None:
        self.chances = array("d")
        """For each dialogue, the probability that the best guesses of all untold facts are right."""
        self.knew = self.copied = 0
        """Numbers of answers for which `Disclosure.knew` and `Disclosure.copied` are true."""

    def add(self, told: Disclosure) -> None:
        """Add the counts of a dialogue."""
        self.chances.append(told.chance)
        self.knew += told.knew
        self.copied += told.copied


Shown = Callable[[_Dialogues], int]
"""A function that returns the count to be tested: a group's `knew` or `copied`."""


class Excess(Struct, frozen=True, kw_only=True):
    """The count of right or copied answers in dialogues with untold facts, and the count that guessing explains."""

    count: int
    dialogues: int
    expected: float
    """Upper bound of the expected value of `count` if agents guess all untold facts."""
    untold: int
    """Number of untold facts in each dialogue of the group; see `Group`."""
    p: float
    """The probability that guessing gives `count` or more, times the number of groups; 1 if `count` <= `expected`."""

    @property
    def facts(self) -> str:
        """The number of untold facts as text, such as `2 facts` or `3 or more facts`."""
        more = " or more" if self.untold == MANY else ""
        return f"{self.untold}{more} {'fact' if self.untold == 1 else 'facts'}"


class Evidence:
    """A collector of the `Disclosure` of each dialogue, with tests of whether guessing explains the answers."""

    def __init__(self) -> None:
        self._groups: defaultdict[Group, _Dialogues] = defaultdict(_Dialogues)
        self._excess: defaultdict[str, array[float]] = defaultdict(_shares)

    def add(self, task_id: str, trial: int, told: Disclosure) -> None:
        """Count a dialogue."""
        if told.untold:
            self._groups[trial, min(told.untold, MANY)].add(told)
        if told.share is not None:
            self._excess[task_id].append(told.share - told.guessed_share)

    def report(self, findings: Findings) -> None:
        """Add a finding for each statistical test in which guessing does not explain the answers."""
        self._report_right(findings, "audit.undisclosed", "are right", lambda found: found.knew)
        self._report_right(
            findings,
            "audit.reference-copies",
            "are the reference, or nearly",
            lambda found: found.copied,
        )
        self._report_used(findings)

    def _report_right(self, findings: Findings, rule: str, what: str, shown: Shown) -> None:
        found = self.most_improbable(shown)
        if found and found.p < ALPHA:
            findings.add(
                rule,
                f"in {found.dialogues:,} dialogues that leave {found.facts} untold, {found.count:,} answers {what}; "
                f"guessing explains {found.expected:.1f} (p < {ALPHA:g})",
            )

    def most_improbable(self, shown: Shown) -> Excess | None:
        """Return the result of the group with the lowest p-value; None if no dialogue has untold facts.

        `shown`: a function that returns the count to be tested; see `Shown`.
        """
        groups = len(self._groups)
        found = (_excess(group, each, shown(each), groups) for group, each in self._in_order())
        return min(found, key=lambda excess: excess.p, default=None)

    def _in_order(self) -> Iterable[tuple[Group, _Dialogues]]:
        return sorted(self._groups.items(), key=lambda item: item[0])

    def mean_excess(self) -> tuple[float, float]:
        """Return the mean excess over the tasks, and an upper bound of this mean's p-value.

        A dialogue's excess is the share of hidden facts that its answer uses although the human never revealed them,
        minus the share that guessing explains.
        """
        tasks = [sum(trials) / len(trials) for _, trials in sorted(self._excess.items())]
        mean = sum(tasks) / len(tasks) if tasks else 0.0
        return mean, hoeffding_tail(mean, len(tasks))

    def _report_used(self, findings: Findings) -> None:
        mean, p = self.mean_excess()
        if p < ALPHA:
            findings.add(
                "audit.undisclosed-mean",
                f"answers use hidden facts that the human never revealed: {100 * mean:.1f} percentage points of all "
                f"hidden facts more than guessing explains, on average over {len(self._excess):,} tasks "
                f"(p < {ALPHA:g})",
            )


def _excess(group: Group, found: _Dialogues, count: int, groups: int) -> Excess:
    chances = found.chances
    expected = sum(chances)
    p = poisson_binomial_tail(count, chances) if count > expected else 1.0
    return Excess(
        count=count,
        dialogues=len(chances),
        expected=expected,
        untold=group[1],
        p=min(1.0, groups * p),
    )


def _shares() -> array[float]:
    return array("d")
