"""The grid of cells that a complete bundle contains: each trial of each of the receiver's tasks, exactly once.

A cell that is missing or has no answer counts as 0. Only the receiver can exclude a cell from the mean, and only for a
task that the receiver's own scorer cannot judge. Reading the bundle has already ensured that cells are sorted and
unique.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from colbench.config import digest
from colbench.rollout import Rollout, cell_seed
from colbench.task import Task
from colbench_leaderboard.bundle.read import Cell
from colbench_leaderboard.bundle.refused import shown
from colbench_leaderboard.verify.findings import Findings


def tasks_hash(tasks: Sequence[Task]) -> str:
    """Return the digest over the IDs and hashes of tasks in order, as in `run.json`."""
    return digest([[task.id, task.hash] for task in tasks])


class Grid:
    """The required trials of each task, and the trials seen so far."""

    def __init__(self, tasks: Sequence[Task], trials: int, seed: int) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._trials = trials
        self._seed = seed
        self._seen: dict[str, set[int]] = {name: set() for name in self._tasks}

    def task(self, cell: Cell, findings: Findings) -> Task | None:
        """Return the receiver's task for a cell.

        If the cell's task, trial or seed is wrong, add a finding and return None.
        """
        rollout = cell.rollout
        task = self._tasks.get(rollout.task_id)
        if task:
            self._seen[task.id].add(rollout.trial)
        flaw = self._flaw(rollout, task)
        if flaw:
            findings.add(*flaw, cell.file, cell.line)
        return None if flaw else task

    def _flaw(self, rollout: Rollout, task: Task | None) -> tuple[str, str] | None:
        if task is None:
            return "grid.unknown-task", f"the tasks do not contain {shown(rollout.task_id)}"
        if rollout.task_hash != task.hash:
            return "grid.task-hash", (
                f"{task.id}: its content has the hash {rollout.task_hash[:12]}…, but the "
                f"receiver's task has {task.hash[:12]}…"
            )
        if rollout.trial >= self._trials:
            return "grid.extra-trial", (
                f"{task.id}: trial {rollout.trial}, but the lock has {self._trials} trials, "
                "counted from 0"
            )
        if rollout.seed != cell_seed(self._seed, task.id, task.hash, rollout.trial):
            return (
                "grid.seed",
                f"{task.id}: its seed does not follow from the run's seed {self._seed}",
            )
        return None

    def missing(self) -> Iterator[tuple[Task, int]]:
        """Yield (task, trial) for each required trial that was not seen."""
        for name, task in sorted(self._tasks.items()):
            for trial in range(self._trials):
                if trial not in self._seen[name]:
                    yield task, trial

    def report_missing(self, findings: Findings) -> None:
        """Add a finding for each required trial that was not seen."""
        for task, trial in self.missing():
            findings.add(
                "grid.missing-cell",
                f"{task.id}, trial {trial}: the dialogue is missing and counts 0",
            )


def report_failure(cell: Cell, findings: Findings) -> None:
    """Add a finding if a dialogue has no answer and, according to the bundle, failed outside the agent."""
    failure = cell.rollout.failure
    if cell.rollout.answer is None and failure and failure.boundary != "agent":
        message = (
            f"{cell.rollout.task_id}: according to the bundle, the dialogue failed at the {failure.boundary}; "
            "it counts 0 nevertheless"
        )
        findings.add("grid.failed-cell", message, cell.file, cell.line)
