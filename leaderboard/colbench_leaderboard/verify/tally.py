"""What adds up over the dialogues of an entry, as they are judged."""

from __future__ import annotations

from collections.abc import Iterable

from colbench.task import Task
from colbench_leaderboard.receipt import CellScore
from colbench_leaderboard.verify.chance import Known
from colbench_leaderboard.verify.disclosure import Disclosure
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.judging import Judged
from colbench_leaderboard.verify.recount import absent, counted


class Tally:
    """Takes the judged dialogues in order; `findings` gets what is wrong with them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._known = Known()
        self._scores: list[CellScore] = []
        self._shares: dict[str, list[float]] = {}
        self._void: set[str] = set()
        self.scorer = ""
        """The name of the scorer, as a verdict had it."""
        self.replayed = 0
        """Replies of the human that were given again."""
        self.drawn = 0
        """Dialogues whose human was asked again."""

    def add(self, judged: Judged) -> None:
        """Count a dialogue."""
        rollout = judged.rollout
        self.drawn += judged.drawn
        self.replayed += judged.same
        if judged.differs:
            self._findings.add("replay.reply", judged.differs, judged.cell.file, judged.cell.line)
        if "default" in rollout.scores:
            self.scorer = rollout.scores["default"].scorer
        score = counted(rollout)
        if score is None:
            self._avoid(rollout.task_id)
        else:
            self._scores.append(score)
        if judged.told:
            self._compare(judged, judged.told)

    def _avoid(self, task_id: str) -> None:
        if task_id not in self._void:
            self._void.add(task_id)
            message = f"{task_id}: the receiver's scorer cannot judge it; its cells are left out"
            self._findings.add("score.void", message)

    def _compare(self, judged: Judged, told: Disclosure) -> None:
        if told.share is not None:
            self._shares.setdefault(judged.rollout.task_id, []).append(told.share)
        if not self._known.add(told):
            return
        rule = "audit.copied-untold" if told.copied else "audit.solved-untold"
        if told.copied or told.knew:
            does = "is the reference, or nearly" if told.copied else "does them all"
            untold = f"{told.untold} of {told.hidden} hidden facts were not told"
            message = f"{judged.rollout.task_id}: {untold}, and yet the answer {does}"
            self._findings.add(rule, message, judged.cell.file, judged.cell.line)

    def finish(self, missing: Iterable[tuple[Task, int]]) -> None:
        """Add the cells that are not in the bundle, and judge the whole."""
        self._scores += (absent(task, trial) for task, trial in missing)
        self._known.report(self._findings)

    @property
    def scores(self) -> list[CellScore]:
        """All cells that count, by task and trial."""
        counting = (score for score in self._scores if score.task_id not in self._void)
        return sorted(counting, key=lambda score: (score.task_id, score.trial))

    @property
    def undisclosed(self) -> list[list[float]]:
        """By task, for each answer the share of the hidden facts that it used untold."""
        return [
            shares for task_id, shares in sorted(self._shares.items()) if task_id not in self._void
        ]
