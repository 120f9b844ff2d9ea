"""Verifying a bundle: files are checked first; if they are valid, answers are scored and the human is replayed.

Dialogues are read one at a time, in two passes. Memory contains the receiver's tasks, a score for each cell, and the
few dialogues being judged. If the bundle is compared with others, memory also contains transcripts, with about
`transcripts.HELD` characters in total.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.config import RunConfig
from colbench.task import Task
from colbench_leaderboard.bundle.read import Bundle, Cell
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.verify import lock, protocol
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.grid import Grid, report_failure, tasks_hash
from colbench_leaderboard.verify.judging import judge
from colbench_leaderboard.verify.receipt import Finding, Level, Outcome, accepted, refused
from colbench_leaderboard.verify.replay import is_keyless, sample
from colbench_leaderboard.verify.scores import summarize
from colbench_leaderboard.verify.tally import Tally
from colbench_leaderboard.verify.transcripts import Transcripts

Seen = Callable[[str, int, int], None]
"""A progress function, called with a stage's name, the number of finished dialogues or entries, and their total."""


class Settings(Struct, frozen=True, kw_only=True):
    """A receiver's settings for verifying a bundle."""

    config: RunConfig = RunConfig()
    """Configuration of the scoring on this machine; all fields that do not concern scoring are ignored."""
    replay: float = 1.0
    """Share of the dialogues in which the rule-based human is replayed; other humans are never replayed."""
    against: tuple[Path, ...] = ()
    """Other bundles, with which the bundle's transcripts are compared."""
    carried: tuple[Finding, ...] = ()
    """Findings about deleted bundles in an earlier receipt; see `transcripts.of_deleted`."""


def verify(bundle: Bundle, own: Sequence[Task], settings: Settings, seen: Seen) -> Outcome:
    """Verify a bundle on the receiver's own copy of the tasks, `own`.

    Raises UserError if this machine cannot judge the bundle; the bundle itself may be correct. Raises DataError if a
    bundle of `settings.against` cannot be read.
    """
    findings, package = Findings(), lock.own_package(bundle.lock)
    config = lock.run_config(bundle.lock, findings)
    if config is None:
        return refused(bundle.digest, tasks_hash(own), findings.all(), package=package)
    tasks = lock.selected(config, own, findings)
    about, packages = bundle.submission, settings.config.sandbox_packages
    lock.check(bundle.lock, config, tasks, findings, submission=about, packages=packages)
    verification = _Verification(
        bundle, config, tasks=tasks, settings=settings, findings=findings, seen=seen
    )
    verification.read()
    if not findings.refused:
        asyncio.run(verification.judge())
    if findings.refused:
        return refused(bundle.digest, tasks_hash(tasks), findings.all(), package=package)
    return verification.accepted(package)


class _Verification:
    def __init__(
        self,
        bundle: Bundle,
        config: RunConfig,
        *,
        tasks: Sequence[Task],
        settings: Settings,
        findings: Findings,
        seen: Seen,
    ) -> None:
        self.bundle, self.config, self.tasks = bundle, config, tasks
        self.settings, self.findings, self.seen = settings, findings, seen
        self.grid = Grid(tasks, config.trials, config.seed)
        self.count = len(tasks) * config.trials
        self.tally = Tally(findings)
        self.keyless = is_keyless(bundle.lock)

    def read(self) -> None:
        """Check everything that needs neither the sandbox nor the human. If the bundle is refused, skip the audits."""
        transcripts = Transcripts(self.bundle.digest, self.settings.against)
        try:
            for number, (cell, task) in enumerate(self._cells(), start=1):
                protocol.check(cell, task, self.config.max_turns, self.findings)
                report_failure(cell, self.findings)
                if not self.findings.refused:
                    transcripts.add(cell.rollout)
                self.seen("reading", number, self.count)
        except Refused as cause:
            self.findings.refuse(cause)
            return
        self.grid.report_missing(self.findings)
        if not self.findings.refused:
            transcripts.report_trials(self.config.trials, self.findings)
            transcripts.report_shared(self.findings)
            for finding in self.settings.carried:
                self.findings.append(finding)

    def _cells(self) -> Iterator[tuple[Cell, Task]]:
        for cell in self.bundle.cells():
            task = self.grid.task(cell, self.findings)
            if task:
                yield cell, task

    async def judge(self) -> None:
        """Score every answer, replay the human, and audit the disclosures of the answers."""
        domain = self.bundle.lock.tasks.domain
        config, keyless = self.settings.config, self.keyless
        async with judge(config, self.tasks, domain, keyless=keyless) as judges:
            again = self._again()
            cells = ((cell, task, again(cell)) for cell, task in self._cells())
            number = 0
            async for judged in judges.judged(cells):
                self.tally.add(judged)
                number += 1
                self.seen("judging", number, self.count)
            for task in await judges.void(self.tally.unanswered(self.tasks)):
                self.tally.leave_out(task.id)
        self.tally.finish(self.grid.missing())
        self._report_replay(number)

    def _again(self) -> Callable[[Cell], bool]:
        """Return a predicate that is true for the cells in which verification replays the human."""
        if not self.keyless or self.settings.replay in (0.0, 1.0):
            return lambda _: self.keyless and self.settings.replay == 1.0
        cells = ((task.id, trial) for task in self.tasks for trial in range(self.config.trials))
        drawn = sample(self.bundle.digest, cells, self.settings.replay)
        return lambda cell: (cell.rollout.task_id, cell.rollout.trial) in drawn

    def _report_replay(self, dialogues: int) -> None:
        if not self.keyless:
            message = f"the human is {self.config.human!a}, a model or a program, and cannot be replayed offline"
            self.findings.add("replay.model", message)
        elif self.tally.replayed < dialogues:
            message = (
                f"in {self.tally.replayed:,} of {dialogues:,} dialogues the human was replayed"
            )
            self.findings.add("replay.sample", message)

    def accepted(self, package: str) -> Outcome:
        """Return the outcome if nothing was refused; `package`: see `Receipt.domain_package`."""
        level: Level = "V2" if self.tally.replayed else "V1"
        scores = self.tally.scores
        return accepted(
            self.bundle.digest,
            tasks_hash(self.tasks),
            self.findings.all(),
            package=package,
            scorer=self.tally.scorer,
            level=level,
            replayed=self.tally.same,
            summary=summarize(
                scores,
                domain=self.bundle.lock.tasks.domain,
                trials=self.config.trials,
                max_turns=self.config.max_turns,
                undisclosed=self.tally.undisclosed,
            ),
            scores=scores,
        )
