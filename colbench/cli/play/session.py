"""A run in which a person is the agent or the human; the dialogues are played one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from colbench.cli.evaluate import exit_code
from colbench.cli.play import screen
from colbench.cli.play.keyboard import Keyboard
from colbench.cli.play.pen import Pen, QuitError
from colbench.cli.play.person import Desk, PersonAgent, PersonHuman
from colbench.config import RunConfig, derive_seed
from colbench.evaluation import Evaluation, Observer
from colbench.executors.local import LocalExecutor
from colbench.numbers import count
from colbench.participants import Role
from colbench.progress import show_environments, show_line
from colbench.report.console import pages
from colbench.rollout import Rollout
from colbench.run_folder import RunRecord
from colbench.selection import select, task_source
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.cells import Cell
    from colbench.earlier import Earlier
    from colbench.executors import Executor
    from colbench.runner import Runner


class _Environments(Observer):
    def on_start(self, record: RunRecord) -> None:
        """Print how answers are isolated, and the tools that score them."""
        show_environments(record)


class PlaySession(Evaluation):
    """An evaluation in which a person plays `role`.

    The person plays the tasks in the order of `task_ids` or, if it is not set, in a random order derived from the run's
    seed. The record of the run lists only the tasks that were played, in the source's order.
    """

    def __init__(self, config: RunConfig, out: Path | None, role: Role, keyboard: Keyboard) -> None:
        self.role = role
        self.desk = Desk(keyboard)
        super().__init__(
            replace(config, task_ids=(), processes=1),
            agent=PersonAgent(self.desk) if role == "agent" else None,
            human=PersonHuman(self.desk, config.max_turns) if role == "human" else None,
            out=out,
        )
        if config.task_ids:
            self.queue = select(self.tasks, replace(self.config, task_ids=config.task_ids))
        else:
            self.queue = sorted(self.tasks, key=self._place)

    def show_plan(self) -> None:
        """Print the participants, the tasks and the run's folder."""
        other: Role = "human" if self.role == "agent" else "agent"
        turns = count(self.config.max_turns, "turn")
        show_line("you", f"the {self.role}")
        show_line(other, getattr(self.config, other))
        show_line("tasks", f"{self.config.tasks}, at most {turns} each")
        show_line("run", str(self.folder.path))

    async def play(self) -> None:
        """Play the pending dialogues, one at a time."""
        self.record = self._record_of(self.record, self.played() or self.queue[:1])
        with self.desk.keyboard:
            await self.run(_Environments())

    async def run_pending(
        self,
        executor: Executor,
        pending: Iterable[Cell],
        earlier: Earlier,
        append: Callable[[Rollout], None],
        observer: Observer,  # noqa: ARG002 - the dialogue itself is on the screen
    ) -> None:
        """Play the pending dialogues until all are played or the person quits."""
        cells = {cell.task.id: cell for cell in pending}
        left = [cells[task.id] for task in self.queue if task.id in cells]
        async with AsyncExitStack() as stack:
            stack.callback(self.desk.waiting.stop)
            assert isinstance(executor, LocalExecutor)  # noqa: S101 - it has one process
            runner = await executor.start(stack, 1)

            def done(rollout: Rollout) -> None:
                append(rollout)
                self.folder.save(self._record_of(self.folder.record(), self.played()))
                self.desk.waiting.stop()
                screen.end(rollout, self.config.scoring, answer=self.role == "human")

            try:
                await self._play(runner, left, earlier, done)
            except QuitError:
                screen.note("Stopped; the unfinished dialogue is not kept.")

    async def _play(
        self,
        runner: Runner,
        left: Sequence[Cell],
        earlier: Earlier,
        done: Callable[[Rollout], None],
    ) -> None:
        for number, cell in enumerate(left):
            if number and not await Pen(self.desk.keyboard, {}).another():
                return
            self.desk.begin(cell.task, self.folder.path / "pages")
            if isinstance(self.human, PersonHuman):
                await self.human.brief(cell.task)
            await runner.run([cell], earlier, done)
        screen.note("All tasks have been played.")

    def finish(self) -> int:
        """Write the report, and print where it is; do nothing if no dialogue was played. Return the exit code."""
        from colbench.report.write import write_report

        played = self.played()
        if not played:
            return 0
        report = write_report(self.folder, played, self._of(played))
        for name, page in pages(report, self.folder.path).items():
            show_line(name, str(page))
        return exit_code(report)

    def played(self) -> list[Task]:
        """Return the tasks that have a dialogue in the folder."""
        done = {rollout.task_id for rollout in self.folder.rollouts()}
        return [task for task in self.tasks if task.id in done]

    def _record_of(self, record: RunRecord, tasks: Sequence[Task]) -> RunRecord:
        config = self._of(tasks)
        return replace(record, config=config, tasks=task_source(config.tasks, list(tasks)))

    def _of(self, tasks: Sequence[Task]) -> RunConfig:
        return replace(self.config, task_ids=tuple(task.id for task in tasks))

    def _place(self, task: Task) -> int:
        return derive_seed("play", self.config.seed, task.id)
