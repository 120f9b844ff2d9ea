"""Comparison of runs in one domain: every measure for every pair of runs, and the tasks with different results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec.structs import replace

from colbench.comparison.measures import Taker, takers
from colbench.comparison.model import (
    Difference,
    DomainComparison,
    Measure,
    Pair,
    RunMeans,
    TaskDifference,
)
from colbench.comparison.pairs import Values, compare_values
from colbench.config import RunConfig
from colbench.domain import Domain
from colbench.report.cells import TaskKey, leading_metric, success
from colbench.report.dialogue_stats import DialogueStats
from colbench.run import Run
from colbench.shards import in_shard
from colbench.stats import ROUNDING, Interval, mean, mean_interval
from colbench.stats.comparison import EPSILON, significances, verdict
from colbench.stats.resampling import shared_bootstrap_means
from colbench.task import Task

SUCCEEDED = "succeeded"
"""Outcome of a cell (one trial of one task) that succeeded; the outcome of a failed cell is its failure class."""
Cells = Mapping[TaskKey, Mapping[int, DialogueStats]]
"""The dialogues of a run by task and trial."""


def compare_domain(domain: Domain, runs: Sequence[Run], mode: str) -> DomainComparison | None:
    """Compare runs on the tasks of one domain that have a dialogue in every run; return None without such tasks."""
    found = common_cells(runs, domain.name)
    return _Domain(domain, runs, found, mode).comparison() if found[0] else None


def common_cells(runs: Sequence[Run], domain: str) -> list[Cells]:
    """Return the dialogues of each run on the tasks that all runs have, in the order of the first run."""
    grids = [_cells(run, domain) for run in runs]
    common = [key for key in grids[0] if all(key in grid for grid in grids)]
    return [{key: grid[key] for key in common} for grid in grids]


def _cells(run: Run, domain: str) -> Cells:
    """Return the dialogues of a run on a domain's tasks; unplanned trials are left out."""
    rows = run.stats.get(domain, {}).items()
    planned = ((key, _planned(row, range(run.config.trials))) for key, row in rows)
    return {key: row for key, row in planned if row}


def _planned(row: dict[int, DialogueStats], trials: range) -> dict[int, DialogueStats]:
    if all(trial in trials for trial in row):
        return row
    return {trial: each for trial, each in row.items() if trial in trials}


class _Taken(NamedTuple):
    """The results of comparing all runs by one measure."""

    measure: Measure
    means: list[Interval | None]
    """The mean of each run; None if no cell of the run has the measure."""
    differences: list[Difference | None]
    """The difference of each pair of runs; None if no cell has the measure in both runs."""


class _Domain:
    """The comparison of several runs in one domain, by all measures, on the tasks that all these runs have."""

    def __init__(
        self, domain: Domain, runs: Sequence[Run], cells: Sequence[Cells], mode: str
    ) -> None:
        self._domain, self._runs, self._cells, self._mode = domain, runs, cells, mode
        dialogues = [each for grid in cells for row in grid.values() for each in row.values()]
        self._lead = leading_metric(domain, dialogues)
        self._headline = (domain.success or self._lead).name
        self._takers = takers(domain, mode, dialogues)
        self._pairs = list(combinations(range(len(runs)), 2))

    def comparison(self) -> DomainComparison:
        """Return the whole comparison."""
        taken = [found for each in self._takers if any((found := self._taken(each)).means)]
        pairs = [
            self._pair(pair, {t.measure.name: d for t in taken if (d := t.differences[number])})
            for number, pair in enumerate(self._pairs)
        ]
        return DomainComparison(
            title=self._domain.title,
            mode=self._mode,
            headline=self._headline,
            value=self._lead.name,
            measures=tuple(each.measure for each in taken),
            tasks=len(self._cells[0]),
            runs=tuple(
                RunMeans(
                    means={t.measure.name: mean for t in taken if (mean := t.means[number])},
                    outcomes=self._outcomes(number),
                )
                for number in range(len(self._runs))
            ),
            pairs=tuple(adjust(pairs, self._headline)),
            differing=tuple(self._differing()),
        )

    def _taken(self, taker: Taker) -> _Taken:
        """Compare all runs by one measure; the values of single dialogues do not stay in memory."""
        measure, values = taker.measure, self._values(taker)
        binary = self._domain.success is not None and measure.name == self._domain.success.name
        return _Taken(
            measure=measure,
            means=[_mean_of(measure, own) if own else None for own in values],
            differences=[
                compare_values(measure, values[mine], values[theirs], binary=binary)
                for mine, theirs in self._pairs
            ],
        )

    def _values(self, taker: Taker) -> list[Values]:
        """Return each run's values of a measure."""
        return [
            _values(taker, grid, run.config)
            for run, grid in zip(self._runs, self._cells, strict=True)
        ]

    def _outcomes(self, number: int) -> dict[str, int] | None:
        if self._domain.success is None:
            return None
        rows = self._cells[number].values()
        outcomes = (outcome(each, self._mode) for row in rows for each in row.values())
        return dict(Counter(each for each in outcomes if each).most_common())

    def _pair(self, pair: tuple[int, int], differences: dict[str, Difference]) -> Pair:
        mine, theirs = pair
        headline = differences.get(self._headline)
        return Pair(
            mine=mine,
            theirs=theirs,
            left_out=self._shared(mine, theirs) - (headline.cells if headline else 0),
            verdict="not separable",
            differences=differences,
            theirs_failed=self._failed(mine, theirs),
            mine_failed=self._failed(theirs, mine),
        )

    def _shared(self, mine: int, theirs: int) -> int:
        """Return the number of cells of the common tasks that both runs plan."""
        configs = self._runs[mine].config, self._runs[theirs].config
        trials = range(min(config.trials for config in configs))
        if all(config.shard is None for config in configs):
            return len(trials) * len(self._cells[0])
        return sum(
            all(in_shard(config.shard, *task, trial) for config in configs)
            for task in self._cells[0]
            for trial in trials
        )

    def _failed(self, won: int, lost: int) -> dict[str, int] | None:
        """Count, by failure class, the cells in which the run number `won` succeeded and the run number `lost` failed.

        Return None if the domain has no success metric.
        """
        if self._domain.success is None:
            return None
        found: Counter[str] = Counter()
        for key, row in self._cells[won].items():
            for trial, dialogue in row.items():
                other = self._cells[lost][key].get(trial)
                failure = other and other.failure_class(self._mode)
                if failure and success(dialogue, self._mode):
                    found[failure] += 1
        return dict(found.most_common())

    def _differing(self) -> list[TaskDifference]:
        families = _families(self._runs)
        lead = next(each for each in self._takers if each.measure.name == self._lead.name)
        values = self._values(lead)
        found = []
        for key in self._cells[0]:
            means = [_mean(each.get(key, {})) for each in values]
            known = [mean for mean in means if mean is not None]
            if known and max(known) - min(known) > EPSILON + ROUNDING:
                family = families.get(key[0], "")
                found.append(
                    TaskDifference(
                        task_id=key[0], task_hash=key[1], family=family, values=tuple(means)
                    )
                )
        return sorted(found, key=_span, reverse=True)


def outcome(dialogue: DialogueStats, mode: str) -> str | None:
    """Return `succeeded`, or the failure class of a dialogue.

    Return None for an unscored dialogue. In a domain that does not define success, return "crashed" if the agent
    failed, and None for all other dialogues.
    """
    return SUCCEEDED if success(dialogue, mode) else dialogue.failure_class(mode)


def adjust(pairs: Sequence[Pair], headline: str) -> Iterator[Pair]:
    """Yield the pairs with adjusted p-values, and with verdicts that follow from these p-values.

    Holm's method adjusts the p-values of all pairs together, separately for each measure and each of its two tests
    (`Difference.test` and `Difference.signs`). `headline`: the measure of the verdicts.
    """
    adjusted: list[dict[str, Difference]] = [{} for _ in pairs]
    for name in dict.fromkeys(name for pair in pairs for name in pair.differences):
        places = [n for n, pair in enumerate(pairs) if name in pair.differences]
        found = [pairs[place].differences[name] for place in places]
        tests = significances([d.test.name for d in found], [d.test.p for d in found])
        signs = significances(["signs"] * len(found), [d.signs.p for d in found])
        for place, each, test, sign in zip(places, found, tests, signs, strict=True):
            adjusted[place][name] = replace(each, test=test, signs=sign)
    for pair, differences in zip(pairs, adjusted, strict=True):
        found_headline = differences.get(headline)
        words = (
            verdict(found_headline.mean.mean or 0.0, found_headline.test)
            if found_headline
            else pair.verdict
        )
        yield replace(pair, differences=differences, verdict=words)


def _mean_of(measure: Measure, values: Values) -> Interval:
    rows = [list(row.values()) for row in values.values()]
    return mean_interval(rows, measure.bounds, shared_bootstrap_means)


def _values(taker: Taker, cells: Cells, config: RunConfig) -> Values:
    found = {
        key: {n: x for n, each in row.items() if (x := taker.take(each, config)) is not None}
        for key, row in cells.items()
    }
    return {key: row for key, row in found.items() if row}


def _families(runs: Sequence[Run]) -> dict[str, str]:
    """Return the family of each task by task ID, from the first run whose tasks can be loaded, if any."""
    tasks: list[Task] = next(filter(None, (run.known_tasks() for run in runs)), [])
    return {task.id: task.family for task in tasks}


def _mean(trials: Mapping[int, float]) -> float | None:
    return mean(list(trials.values())) if trials else None


def _span(task: TaskDifference) -> float:
    known = [value for value in task.values if value is not None]
    return max(known) - min(known)
