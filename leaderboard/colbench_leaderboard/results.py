"""Results by task: what every entry of a board has for each cell of the grid, as arrays that stay small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.errors import DataError
from colbench_leaderboard.entries import read_scores
from colbench_leaderboard.receipt import CellScore, Receipt
from colbench_leaderboard.store import Record

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
    "unlike the others of its board; `colbench leaderboard rescore` verifies all by the same rules"
)


class TrialResult(Struct, frozen=True, kw_only=True):
    """A cell."""

    trial: int
    value: float
    success: bool | None
    turns: int
    answered: bool
    agent_words: int
    human_words: int


class TaskResult(Struct, frozen=True, kw_only=True):
    """What an entry has on a task."""

    bundle: str
    task_id: str
    value: float
    """The mean over the trials."""
    success: float | None
    """The share of the trials."""
    trials: tuple[TrialResult, ...]


class Results:
    """The cells of the entries of one board; each entry has arrays of tasks by trials."""

    def __init__(self, tasks: tuple[str, ...]) -> None:
        self.tasks = tasks
        self._index = {task: index for index, task in enumerate(tasks)}
        self._cells: dict[str, dict[str, Floats]] = {}

    @property
    def bundles(self) -> tuple[str, ...]:
        """The entries."""
        return tuple(self._cells)

    def add(self, bundle: str, scores: Iterable[CellScore]) -> None:
        """Take in an entry. Raises DataError unless it has each task, and each as often as the others."""
        import numpy as np

        rows: list[list[CellScore]] = [[] for _ in self.tasks]
        for score in scores:
            if score.task_id not in self._index:
                raise DataError(f"entry {bundle}: has the task {score.task_id!a}, {OTHERS}")
            rows[self._index[score.task_id]].append(score)
        for task, row in zip(self.tasks, rows, strict=True):
            if len(row) != len(rows[0]) or not row:
                raise DataError(
                    f"entry {bundle}: has {len(row)} cells of the task {task!a}, {OTHERS}"
                )
        self._cells[bundle] = {
            name: np.array([[_number(getattr(cell, name)) for cell in row] for row in rows])
            for name in NUMBERS
        }

    def values(self, bundle: str) -> Floats:
        """The values of an entry's cells, tasks by trials."""
        return self._cells[bundle]["value"]

    def successes(self, bundle: str) -> Floats | None:
        """Of backend: 1 and 0 for cells that succeeded or not, tasks by trials."""
        import numpy as np

        found = self._cells[bundle]["success"]
        return None if np.isnan(found).any() else found

    def tokens(self, bundle: str) -> Floats:
        """The agent's tokens in each cell, tasks by trials; NaN where they are not known."""
        import numpy as np

        cells = self._cells[bundle]
        return np.where(cells["turns"] == 0, 0.0, cells["agent_tokens"])

    def entry(self, bundle: str) -> Iterator[TaskResult]:
        """An entry's results, in the order of `tasks`."""
        return (self._result(bundle, index) for index in range(len(self.tasks)))

    def task(self, task_id: str) -> tuple[TaskResult, ...]:
        """The results on one task, in the order of `bundles`."""
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


def read_results(store: Path, named: Iterable[tuple[Record, Receipt]]) -> Results:
    """The results of entries on the same tasks, by the record that names the receipt and the receipt itself.

    Raises DataError where scores are missing, not those that the receipt names, or on other tasks.
    """
    results: Results | None = None
    for record, receipt in named:
        scores = read_scores(store, record, receipt)
        if results is None:
            results = Results(tuple(dict.fromkeys(score.task_id for score in scores)))
        results.add(record.bundle, scores)
    return results or Results(())


def _number(value: float | bool | None) -> float:
    return float("nan") if value is None else float(value)
