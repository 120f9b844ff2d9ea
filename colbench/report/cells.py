"""The planned cells of a run, one for each task and trial, and their values (of one metric in one scoring mode)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from colbench.asking.derive import completed
from colbench.config import Shard
from colbench.domain import Domain, Metric
from colbench.registry import get_domain
from colbench.report.dialogue_stats import DialogueStats, Judged, Measurer
from colbench.rollout import Rollout
from colbench.shards import in_shard
from colbench.task import Task

T = TypeVar("T")
Grid = tuple[tuple[DialogueStats | None, ...], ...]
"""A row for each task, with a column for each trial; None for a planned dialogue that does not exist yet."""
TaskKey = tuple[str, str]
"""ID and hash of a task."""
ByTask = dict[TaskKey, dict[int, DialogueStats]]
"""Dialogues by task and trial."""


class Cells(Struct, frozen=True, kw_only=True):
    """The cells (planned dialogues) of one domain, in the order of the tasks."""

    tasks: tuple[Task, ...]
    grid: Grid
    trials: int
    """Number of trials planned for each task; a shard has only some of them."""

    @property
    def planned(self) -> int:
        """Number of planned dialogues."""
        return sum(map(len, self.grid))

    @property
    def dialogues(self) -> list[DialogueStats]:
        """The existing dialogues."""
        return [each for row in self.grid for each in row if each]

    @property
    def whole(self) -> Cells:
        """A copy with None for each dialogue that ended in a failure."""
        return self.keep(lambda each: each.ended_by != "failure")

    def keep(self, condition: Callable[[DialogueStats], bool]) -> Cells:
        """Return a copy with None for every dialogue that does not meet the condition."""
        grid = tuple(
            tuple(each if each and condition(each) else None for each in row) for row in self.grid
        )
        return replace(self, grid=grid)

    def clusters(self, measure: Callable[[DialogueStats], T | None]) -> list[list[T]]:
        """Return, for each task, the values of a measure for its dialogues; values of None are left out."""
        return [
            [x for each in row if each and (x := measure(each)) is not None] for row in self.grid
        ]


class Measured(Struct, frozen=True, kw_only=True):
    """The planned dialogues of a run by domain, and the number of dialogues that are ignored."""

    cells: dict[str, Cells]
    """The cells of each domain; a domain without planned dialogues, as may occur in a shard, is left out."""
    ignored: int
    """Number of dialogues that are not planned, about an earlier version of a task, or replaced by a later dialogue."""


class _Row:
    """The planned trials of a task, and their known results."""

    def __init__(self, task: Task, trials: Sequence[int]) -> None:
        self.task = task
        self.trials = trials
        self.found: list[DialogueStats | None] = [None] * len(trials)

    def plans(self, rollout: Rollout) -> bool:
        """Return True if a dialogue is a planned trial of the task, and not of an earlier version of the task."""
        return rollout.task_hash == self.task.hash and rollout.trial in self.trials


def measure(
    tasks: Iterable[Task],
    trials: int,
    dialogues: Iterable[tuple[int, Rollout]],
    shard: Shard | None = None,
) -> Measured:
    """Return the statistics of dialogues in the planned cells, by domain. Dialogues are measured one at a time.

    Args:
        tasks: The tasks of the run.
        trials: Trials planned for each task.
        dialogues: Pairs of position (`DialogueStats.place`) and dialogue. If a cell has several dialogues, the one with
            the highest position counts.
        shard: If set, cells of other shards and tasks without a cell in this shard are left out.
    """
    planned = (_row(task, trials, shard) for task in tasks)
    rows = {row.task.id: row for row in planned if row.trials}
    measurer, total = Measurer(), 0
    for place, rollout in dialogues:
        total += 1
        row = rows.get(rollout.task_id)
        if row is None or not row.plans(rollout):
            continue
        number = row.trials.index(rollout.trial)
        known = row.found[number]
        if known is None or known.place < place:
            whole = completed(row.task, rollout)
            row.found[number] = measurer.measure(whole, place, row.task)
    cells = {
        domain: _cells([row for row in rows.values() if row.task.domain == domain], trials)
        for domain in sorted({row.task.domain for row in rows.values()})
    }
    held = sum(len(each.dialogues) for each in cells.values())
    return Measured(cells=cells, ignored=total - held)


def by_task(tasks: Sequence[Task], dialogues: Iterable[tuple[int, Rollout]]) -> dict[str, ByTask]:
    """Return the statistics of dialogues by domain, task and trial, including dialogues that were not planned.

    Args:
        tasks: The known tasks. The result begins with these tasks, in this order. Unknown tasks follow in the order of
            the file.
        dialogues: Pairs of position and rollout, the last line of the file first (`RunFolder.latest`). If a cell has
            several pairs, the first one counts.
    """
    known, measurer = {task.hash: task for task in tasks}, Measurer()
    found: dict[str, ByTask] = {}
    for place, rollout in dialogues:
        rows = found.setdefault(rollout.domain, {})
        row = rows.setdefault((rollout.task_id, rollout.task_hash), {})
        if rollout.trial not in row:
            task = known.get(rollout.task_hash)
            row[rollout.trial] = measurer.measure(completed(task, rollout), place, task)
    order = {(task.id, task.hash): number for number, task in enumerate(tasks)}
    return {name: _in_order(rows, order) for name, rows in found.items()}


def _in_order(rows: ByTask, order: Mapping[TaskKey, int]) -> ByTask:
    def place(key: TaskKey) -> tuple[int, int]:
        return order.get(key, len(order)), min(each.place for each in rows[key].values())

    return {key: dict(sorted(rows.pop(key).items())) for key in sorted(rows, key=place)}


def _row(task: Task, trials: int, shard: Shard | None) -> _Row:
    if shard is None:
        return _Row(task, range(trials))
    return _Row(
        task, [trial for trial in range(trials) if in_shard(shard, task.id, task.hash, trial)]
    )


def _cells(rows: Sequence[_Row], trials: int) -> Cells:
    return Cells(
        tasks=tuple(row.task for row in rows),
        grid=tuple(tuple(row.found) for row in rows),
        trials=trials,
    )


def value(dialogue: Judged, mode: str, metric: Metric) -> float | None:
    """Return a dialogue's metric. If the metric was not computed, return 0 if the agent failed, else None."""
    found = metric.of(dialogue.scores.get(mode))
    return 0.0 if found is None and dialogue.agent_failed else found


def success(dialogue: Judged, mode: str) -> bool | None:
    """Return True if the answer succeeded, False if the answer or the agent failed, None if the dialogue is unscored.

    The result is always None in a domain that does not define success.
    """
    score = dialogue.scores.get(mode)
    if score and score.success is not None:
        return score.success
    return False if dialogue.agent_failed and get_domain(dialogue.domain).success else None


def unjudged(dialogue: Judged, mode: str, lead: Metric) -> bool:
    """Return True if nothing failed, but the answer has no value because the reference cannot be compared."""
    scored = dialogue.scores.get(mode) is not None
    return scored and dialogue.settled and value(dialogue, mode, lead) is None


def value_at(dialogue: DialogueStats, turn: int, lead: Metric) -> float | None:
    """Return the value of a metric for the last answer shown in turns 1 to `turn`, in the domain's first mode.

    The value is None if the dialogue was not scored, or if no turn was scored and the dialogue's value is not 0.
    Otherwise, the value is 0 if the agent failed or if these turns show no answer.
    """
    final = value(dialogue, get_domain(dialogue.domain).modes[0], lead)
    values = dialogue.by_turn(lead)
    if final is None or (final != 0 and all(each is None for each in values)):
        return None
    if dialogue.agent_failed:
        return 0.0
    return next((each for each in reversed(values[:turn]) if each is not None), 0.0)


def leading_metric(domain: Domain, dialogues: Sequence[Judged]) -> Metric:
    """Return the metric that a report leads with.

    A domain without a fallback metric always leads with its primary metric. Otherwise, the primary metric leads only if
    every measured answer has it. A mean over only some of the answers could be mistaken for a mean over all.
    """
    if domain.fallback is None:
        return domain.primary
    shown = (dialogue for dialogue in dialogues if not dialogue.agent_failed)
    scores = [score for dialogue in shown for score in dialogue.scores.values()]
    lacking = any(score.value is None and domain.fallback.of(score) is not None for score in scores)
    taken = any(score.value is not None for score in scores)
    return domain.primary if taken and not lacking else domain.fallback
