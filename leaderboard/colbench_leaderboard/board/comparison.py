"""Comparison of an entry with others on the same tasks: differences, tests, and a summary sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.stats import ALPHA, Estimate, mcnemar, rounded, sign_test
from colbench.stats.comparison import EPSILON, Significance, TestName, describe, significances
from colbench.stats.differences import Measure, mean_estimates, win_shares
from colbench.stats.power import FEWEST, least_detectable
from colbench_leaderboard.board.results import Results

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Difference(Struct, frozen=True, kw_only=True):
    """The difference between two entries in one measure: this entry minus the other."""

    mean: Estimate
    test: Significance
    only_mine: int | None = None
    """The number of tasks that only this entry solved; None unless the test is McNemar's."""
    only_theirs: int | None = None
    """The number of tasks that only the other entry solved; None unless the test is McNemar's."""


class Wins(Struct, frozen=True, kw_only=True):
    """Numbers of tasks won, lost and tied.

    On each task, every trial of this entry is paired with every trial of the other entry. The task is won if this entry
    wins more than half of these pairs, lost if it wins less than half, and tied if it wins exactly half. A tied pair
    counts as half a win.
    """

    won: int
    lost: int
    tied: int
    rate: Estimate
    """The share of a task's pairs that this entry wins, averaged over tasks; ties: see `stats.comparison.TIE_RULE`."""
    test: Significance
    """The sign test of tasks won against tasks lost; ties do not count."""


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of this entry with another."""

    mine: str
    """The digest of this entry's bundle."""
    theirs: str
    """The digest of the other entry's bundle."""
    tasks: int
    value: Difference
    success: Difference | None
    """None if the domain has no success metric."""
    wins: Wins
    least_detectable: float | None
    """The true difference between the entries' mean values that a test at 5% detects with a probability of 80%.

    Smaller differences are detected less often. None for fewer than 6 tasks.
    """
    words: str
    """A sentence with the verdict, the difference in success, and the p-value of this difference.

    In a domain without a success metric, the sentence is about the difference in value.
    """


def separable(results: Results, one: str, other: str) -> bool:
    """Return True if the mean values of two entries differ significantly in a sign-flip test at 5%."""
    import numpy as np

    means = np.column_stack([results.values(bundle).mean(axis=1) for bundle in (one, other)])
    return Measure(means).sign_flips(0, [1])[0] <= ALPHA


class Comparisons:
    """The comparisons among the entries of a board."""

    def __init__(self, results: Results) -> None:
        import numpy as np

        self._bundles = results.bundles
        self._range = results.bounds[1] - results.bounds[0]
        self._cells = [results.values(bundle) for bundle in self._bundles]
        solved = [results.successes(bundle) for bundle in self._bundles]
        known = [cells for cells in solved if cells is not None]
        self._solved = known if len(known) == len(solved) else None

        def measure(cells: list[Floats]) -> Measure:
            return Measure(np.column_stack([each.mean(axis=1) for each in cells]))

        self._values = measure(self._cells)
        self._successes = measure(self._solved) if self._solved else None

    def pair(self, mine: str, theirs: str) -> Comparison:
        """Compare an entry with another."""
        return self.view(mine, [theirs])[0]

    def view(self, mine: str, others: Sequence[str] | None = None) -> tuple[Comparison, ...]:
        """Compare an entry with each of `others` (default: every other entry of the board).

        The p-values are adjusted for the number of these comparisons.
        """
        named = [each for each in self._bundles if each != mine] if others is None else others
        own, columns = self._bundles.index(mine), [self._bundles.index(each) for each in named]
        if not columns:
            return ()
        successes = self._success(own, columns)
        tasks = len(self._cells[own])
        return tuple(
            Comparison(
                mine=mine,
                theirs=theirs,
                tasks=tasks,
                value=value,
                success=success,
                wins=wins,
                least_detectable=_least_detectable(deviation, tasks),
                words=_words(success or value, "success rate" if success else "mean value"),
            )
            for theirs, value, success, wins, deviation in zip(
                named,
                self._value(own, columns),
                successes,
                self._wins(own, columns),
                self._values.deviations(own, columns),
                strict=True,
            )
        )

    def _value(self, own: int, columns: Sequence[int]) -> list[Difference]:
        means = self._values.differences(own, columns, (-self._range, self._range))
        tests = significances(["sign flips"] * len(columns), self._values.sign_flips(own, columns))
        return [Difference(mean=mean, test=test) for mean, test in zip(means, tests, strict=True)]

    def _success(self, own: int, columns: Sequence[int]) -> Sequence[Difference | None]:
        if self._solved is None or self._successes is None:
            return [None] * len(columns)
        solved = self._solved
        means = self._successes.differences(own, columns, (-1.0, 1.0))
        flips = self._successes.sign_flips(own, columns)
        only = [_only(solved[own], solved[column]) for column in columns]
        names: list[TestName] = ["McNemar" if each else "sign flips" for each in only]
        p_values = [
            mcnemar(*each) if each else flip for each, flip in zip(only, flips, strict=True)
        ]
        return [
            Difference(
                mean=mean,
                test=test,
                only_mine=each[0] if each else None,
                only_theirs=each[1] if each else None,
            )
            for mean, test, each in zip(means, significances(names, p_values), only, strict=True)
        ]

    def _wins(self, own: int, columns: Sequence[int]) -> list[Wins]:
        import numpy as np

        cells = self._cells
        shares = np.column_stack([win_shares(cells[own], cells[each], EPSILON) for each in columns])
        rates = mean_estimates(shares, (0.0, 1.0))
        won, lost = (shares > 0.5).sum(axis=0).tolist(), (shares < 0.5).sum(axis=0).tolist()
        p_values = [sign_test(*each) for each in zip(won, lost, strict=True)]
        tests = significances(["signs"] * len(columns), p_values)
        return [
            Wins(won=w, lost=n, tied=len(shares) - w - n, rate=rate, test=test)
            for w, n, rate, test in zip(won, lost, rates, tests, strict=True)
        ]


def _least_detectable(deviation: float, tasks: int) -> float | None:
    return rounded(least_detectable(deviation, tasks)) if tasks >= FEWEST else None


def _only(mine: Floats, theirs: Floats) -> tuple[int, int] | None:
    """Return how many tasks only `mine` solved, and how many tasks only `theirs` solved.

    Return None unless every task has one trial.
    """
    if mine.shape[1] != 1 or theirs.shape[1] != 1:
        return None
    return int((mine > theirs).sum()), int((mine < theirs).sum())


def _words(difference: Difference, measure: str) -> str:
    mean = difference.mean
    return describe((mean.mean, mean.low, mean.high), difference.test, measure)
