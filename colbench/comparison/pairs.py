"""One run compared with another by one measure, paired by task and trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from colbench.comparison.model import Difference, Measure
from colbench.report.cells import TaskKey
from colbench.stats import ROUNDING, mcnemar, mean, mean_interval, sign_test
from colbench.stats.comparison import EPSILON, Significance, TestName
from colbench.stats.intervals import win_share
from colbench.stats.paired import sign_flips
from colbench.stats.power import (
    FEWEST,
    least_detectable,
    tasks_needed,
    trials_needed,
    variances,
)
from colbench.stats.resampling import flipped_sums, shared_bootstrap_means

Values = Mapping[TaskKey, Mapping[int, float]]
"""The values of a measure in a run by task and trial; cells in which the measure is undefined are left out."""


class _Task(NamedTuple):
    """A task's values in the trials in which both runs have a value."""

    mine: list[float]
    theirs: list[float]

    @property
    def differences(self) -> list[float]:
        return [a - b for a, b in zip(self.mine, self.theirs, strict=True)]


def compare_values(
    measure: Measure, mine: Values, theirs: Values, *, binary: bool
) -> Difference | None:
    """Return the difference of two runs in a measure, with unadjusted p-values.

    Return None if no trial of any task has a value in both runs. `binary`: True if the values are successes, 0 or 1.
    """
    tasks = list(_common(mine, theirs))
    if not tasks:
        return None
    clusters = [task.differences for task in tasks]
    means = [mean(each) for each in clusters]
    total = mean(means)
    won, tied, lost, rate = _wins(measure, tasks)
    only = _only(tasks) if binary else None
    needs = _needs(total, clusters, means)
    width = measure.bounds and measure.bounds[1] - measure.bounds[0]
    return Difference(
        tasks=len(tasks),
        cells=sum(map(len, clusters)),
        mine=mean([mean(task.mine) for task in tasks]),
        theirs=mean([mean(task.theirs) for task in tasks]),
        mean=mean_interval(clusters, (-width, width) if width else None, shared_bootstrap_means),
        won=won,
        tied=tied,
        lost=lost,
        win_rate=mean_interval([[share] for share in rate], resample=shared_bootstrap_means),
        test=_test(means, only if all(len(each) == 1 for each in clusters) else None),
        signs=_significance("signs", sign_test(won, lost)),
        only_mine=only[0] if only else None,
        only_theirs=only[1] if only else None,
        least_detectable=needs[0],
        tasks_needed=needs[1],
        trials_needed=needs[2],
    )


def _common(mine: Values, theirs: Values) -> list[_Task]:
    found = []
    for key, ours in mine.items():
        others = theirs.get(key, {})
        trials = sorted(ours.keys() & others.keys())
        if trials:
            found.append(_Task([ours[n] for n in trials], [others[n] for n in trials]))
    return found


def _wins(measure: Measure, tasks: Sequence[_Task]) -> tuple[int, int, int, list[float]]:
    """Return the numbers of tasks won, tied and lost, and each task's share of trial pairs won; ties count half."""
    epsilon = EPSILON if measure.unit == "%" else 0.0
    shares = [win_share(task.mine, task.theirs, epsilon) for task in tasks]
    if measure.direction == "lower":
        shares = [1 - share for share in shares]
    won = sum(share > 0.5 + ROUNDING for share in shares)
    lost = sum(share < 0.5 - ROUNDING for share in shares)
    return won, len(shares) - won - lost, lost, shares


def _only(tasks: Sequence[_Task]) -> tuple[int, int]:
    """Count the cells in which only the first run succeeded, and the cells in which only the second run succeeded."""
    differences = [each for task in tasks for each in task.differences]
    return sum(each > 0 for each in differences), sum(each < 0 for each in differences)


def _test(means: Sequence[float], only: tuple[int, int] | None) -> Significance:
    """Return McNemar's test if `only` is given, else a sign-flip test of the tasks' mean differences (`means`).

    `only`: the number of cells in which only the first run succeeded, and the number in which only the second did.
    """
    import numpy as np

    if only:
        return _significance("McNemar", mcnemar(*only))
    column = np.array(means)[:, None]
    return _significance("sign flips", sign_flips(column, flipped_sums(column))[0])


def _significance(name: TestName, p: float) -> Significance:
    return Significance(name=name, p=p, adjusted=p)


def _needs(
    total: float, clusters: Sequence[Sequence[float]], means: Sequence[float]
) -> tuple[float | None, int | None, int | None]:
    """Return the least detectable difference, and the numbers of tasks and trials that detect the observed difference.

    All three are None if all tasks have the same difference. The first is also None for fewer than `FEWEST` tasks;
    `tasks_needed`, `trials_needed` and `variances` describe when the others are None.
    """
    import numpy as np

    if max(means) - min(means) <= ROUNDING:
        return None, None, None
    deviation = float(np.std(means, ddof=1))
    least = least_detectable(deviation, len(means)) if len(means) >= FEWEST else None
    parts = variances(clusters)
    trials = trials_needed(total, *parts, len(means)) if parts else None
    return least, tasks_needed(total, deviation), trials
