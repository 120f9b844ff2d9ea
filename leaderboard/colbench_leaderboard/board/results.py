"""Results by task: the scores of every entry on a board, in compact arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.errors import DataError
from colbench.registry import get_domain
from colbench_leaderboard.store.entries import read_scores
from colbench_leaderboard.store.layout import Record
from colbench_leaderboard.verify.receipt import CellScore, Receipt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NUMBERS = (
    "value",
    "success",
    "turns",
    "answered",
    "agent_words",
    "human_words",
    "agent_tokens",
)

OTHERS = (
    "unlike the other entries of its board; to fix this, use `colbench leaderboard rescore`, which "
    "verifies all entries by the same rules"
)


class TrialResult(Struct, frozen=True, kw_only=True):
    """The result of one trial of a task."""

    trial: int
    value: float
    success: bool | None
    turns: int
    answered: bool
    agent_words: int
    human_words: int


class TaskResult(Struct, frozen=True, kw_only=True):
    """The results of an entry on a task."""

    bundle: str
    task_id: str
    value: float
    """The mean over the trials."""
    success: float | None
    """The share of successful trials; None in a domain without a success metric."""
    trials: tuple[TrialResult, ...]


class Results:
    """The results of the entries on one board; each entry has arrays of shape (tasks, trials)."""

    def __init__(self, tasks: tuple[str, ...], bounds: tuple[float, float]) -> None:
        self.tasks = tasks
        self.bounds = bounds
        """The smallest and the largest possible value of the domain's primary metric."""
        self._index = {task: index for index, task in enumerate(tasks)}
        self._cells: dict[str, dict[str, Floats]] = {}

    @property
    def bundles(self) -> tuple[str, ...]:
        """The digests of the entries' bundles."""
        return tuple(self._cells)

    def add(self, bundle: str, scores: Iterable[CellScore]) -> None:
        """Add an entry.

        Raises DataError unless the entry has exactly the tasks of the board, with the same number of trials of each.
        """
        import numpy as np

        if not self.tasks:
            raise DataError(
                f"entry {bundle} has no score; remove it with `colbench leaderboard remove`"
            )
        rows: list[list[CellScore]] = [[] for _ in self.tasks]
        for score in scores:
            if score.task_id not in self._index:
                raise DataError(f"entry {bundle} has the task {score.task_id!a}, {OTHERS}")
            rows[self._index[score.task_id]].append(score)
        for task, row in zip(self.tasks, rows, strict=True):
            if not row:
                raise DataError(f"entry {bundle} lacks the task {task!a}, {OTHERS}")
            if len(row) != len(rows[0]):
                raise DataError(
                    f"entry {bundle} has {len(row)} trials of the task {task!a}, but {len(rows[0])} of the task "
                    f"{self.tasks[0]!a}; verify it again with `colbench leaderboard rescore`"
                )
        self._cells[bundle] = {
            name: np.array([[_number(getattr(cell, name)) for cell in row] for row in rows])
            for name in NUMBERS
        }

    def values(self, bundle: str) -> Floats:
        """Return the value of each dialogue of an entry, shape (tasks, trials)."""
        return self._cells[bundle]["value"]

    def successes(self, bundle: str) -> Floats | None:
        """Return 1 for each successful dialogue and 0 for each other dialogue, shape (tasks, trials).

        Return None if the domain has no success metric.
        """
        import numpy as np

        found = self._cells[bundle]["success"]
        return None if np.isnan(found).any() else found

    def tokens(self, bundle: str) -> Floats:
        """Return the agent's tokens in each dialogue, shape (tasks, trials).

        NaN: the number is unknown. 0: the dialogue has no turns.
        """
        import numpy as np

        cells = self._cells[bundle]
        return np.where(cells["turns"] == 0, 0.0, cells["agent_tokens"])

    def entry(self, bundle: str) -> Iterator[TaskResult]:
        """Yield an entry's results, in the order of `tasks`."""
        return (self._result(bundle, index) for index in range(len(self.tasks)))

    def task(self, task_id: str) -> tuple[TaskResult, ...]:
        """Return the results on one task, in the order of `bundles`."""
        index = self._index[task_id]
        return tuple(self._result(bundle, index) for bundle in self._cells)

    def _result(self, bundle: str, index: int) -> TaskResult:
        rows = {name: array[index].tolist() for name, array in self._cells[bundle].items()}
        trials = tuple(
            TrialResult(
                trial=trial,
                value=rows["value"][trial],
                success=None if success != success else bool(success),  # noqa: PLR0124 - NaN
                turns=int(rows["turns"][trial]),
                answered=bool(rows["answered"][trial]),
                agent_words=int(rows["agent_words"][trial]),
                human_words=int(rows["human_words"][trial]),
            )
            for trial, success in enumerate(rows["success"])
        )
        known = [each.success for each in trials if each.success is not None]
        return TaskResult(
            bundle=bundle,
            task_id=self.tasks[index],
            value=sum(each.value for each in trials) / len(trials),
            success=sum(known) / len(trials) if len(known) == len(trials) else None,
            trials=trials,
        )


def make_results(domain: str, entries: Iterable[tuple[str, Iterable[CellScore]]]) -> Results:
    """Build the results of a board; `entries` has the digest and the scores of each entry.

    Raises DataError if the entries have different tasks, or if an entry's tasks have different numbers of trials.
    """
    bounds = get_domain(domain).primary.bounds
    results = Results((), bounds)
    for bundle, scores in entries:
        cells = list(scores)
        if not results.bundles:
            results = Results(tuple(dict.fromkeys(cell.task_id for cell in cells)), bounds)
        results.add(bundle, cells)
    return results


def read_results(store: Path, domain: str, named: Iterable[tuple[Record, Receipt]]) -> Results:
    """Read the results of a board's entries; `named` has the log record and the receipt of each entry.

    Raises DataError if scores are missing, do not match the receipt, or are for other tasks.
    """
    return make_results(
        domain,
        ((record.bundle, read_scores(store, record, receipt)) for record, receipt in named),
    )


def _number(value: float | bool | None) -> float:
    return float("nan") if value is None else float(value)
