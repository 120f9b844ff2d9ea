"""Totals over the dialogues of an entry, updated as dialogues are judged."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from colbench.numbers import percent
from colbench.task import Task
from colbench_leaderboard.verify.disclosure import Disclosure
from colbench_leaderboard.verify.evidence import Evidence
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.judging import Judged
from colbench_leaderboard.verify.receipt import CellScore
from colbench_leaderboard.verify.scores import absent_cell

T = TypeVar("T", bound=Hashable)


class Tally:
    """The running totals over judged dialogues; violations are reported to `findings`."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._evidence = Evidence()
        self._scores: list[CellScore] = []
        self._shares: dict[str, array[float]] = {}
        self._known: dict[Hashable, Any] = {}
        self._void: set[str] = set()
        self._answered: set[str] = set()
        self.scorer = ""
        """The name of the scorer; "" if no dialogue has an answer."""
        self.same = 0
        """Number of replies that the human gave again when replayed."""
        self.replayed = 0
        """Number of dialogues whose human was asked again."""

    def add(self, judged: Judged) -> None:
        """Count a dialogue."""
        cell = judged.cell
        self.replayed += judged.replayed
        self.same += judged.same
        if judged.differs:
            self._findings.add("replay.reply", judged.differs, cell.file, cell.line)
        if judged.scorer:
            self.scorer = judged.scorer
            self._answered.add(cell.rollout.task_id)
        if judged.score is None:
            self.leave_out(cell.rollout.task_id)
        else:
            self._scores.append(self._shared(judged.score))
        if judged.told:
            self._compare(judged, judged.told)

    def _shared(self, score: CellScore) -> CellScore:
        """Return a copy of a score that reuses equal values of earlier scores, so that each value is stored once."""
        return replace(
            score,
            task_id=self._same(score.task_id),
            value=self._same(score.value),
            official=self._same(score.official),
            asking=self._known.setdefault(tuple(score.asking.items()), score.asking),
        )

    def _same(self, value: T) -> T:
        known: T = self._known.setdefault(value, value)
        return known

    def unanswered(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that no dialogue answers, so that no score shows whether the scorer can judge them."""
        return [task for task in tasks if task.id not in self._answered]

    def leave_out(self, task_id: str) -> None:
        """Leave out all cells of a task that the scorer cannot judge, including missing cells."""
        if task_id not in self._void:
            self._void.add(task_id)
            message = f"{task_id}: the receiver's scorer cannot judge this task; its dialogues are left out"
            self._findings.add("score.void", message)

    def _compare(self, judged: Judged, told: Disclosure) -> None:
        task_id = judged.cell.rollout.task_id
        if told.share is not None:
            self._shares.setdefault(task_id, array("d")).append(told.share)
        self._evidence.add(task_id, judged.cell.rollout.trial, told)
        if told.untold and (told.copied or told.knew):
            rule = "audit.copied-untold" if told.copied else "audit.solved-untold"
            does = "is the reference, or nearly" if told.copied else "is right"
            untold = f"{told.untold} of {told.hidden} hidden facts were not revealed"
            chance = f"guessing succeeds with a probability of at most {percent(told.chance)}"
            message = f"{task_id}: {untold}, and yet the answer {does}; {chance}"
            self._findings.add(rule, message, judged.cell.file, judged.cell.line)

    def finish(self, missing: Iterable[tuple[Task, int]]) -> None:
        """Add the cells that the bundle lacks, and report the results of the statistical tests (`evidence`).

        If no cell counts, because the scorer can judge no task, this is reported as a refusal.
        """
        self._scores += (absent_cell(task, trial) for task, trial in missing)
        if not self.scores:
            message = "the receiver's scorer can judge none of the tasks, so the entry has no score"
            self._findings.add("score.none", message)
        self._evidence.report(self._findings)

    @property
    def scores(self) -> list[CellScore]:
        """The scores of all cells, sorted by task and trial, except the cells of tasks that the scorer cannot judge."""
        counting = (score for score in self._scores if score.task_id not in self._void)
        return sorted(counting, key=lambda score: (score.task_id, score.trial))

    @property
    def undisclosed(self) -> list[array[float]]:
        """The share of hidden facts that each answer used although the human never revealed them.

        There is one array per task, by ascending ID, with one value per answer. Tasks without hidden facts, and tasks
        that the scorer cannot judge, are left out.
        """
        return [
            shares for task_id, shares in sorted(self._shares.items()) if task_id not in self._void
        ]
