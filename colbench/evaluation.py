"""An evaluation: a run of an agent with a simulated human on a set of tasks, stored in a folder.

`evaluate` and `evaluate_async` are the library's entry points. These functions and the command line use `Evaluation`.
Nothing here prints; an `Observer` receives the progress of the run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench import event_loop
from colbench.agent_isolation import find_agent, isolate, read_isolation
from colbench.cell_queue import REPLIES_INTERVAL, CellQueue
from colbench.cells import Cell, plan
from colbench.command import printable
from colbench.config import RunConfig, digest, without_address
from colbench.config_values import config_of
from colbench.earlier import Earlier
from colbench.errors import UserError
from colbench.executors import Executor
from colbench.executors.choice import audits_apart, count_processes, is_local, remote_executor
from colbench.executors.local import LocalExecutor, pins_of
from colbench.executors.remote import Plan
from colbench.export import encode_lines
from colbench.failures import broken_agent, matches, read_reasons
from colbench.interfaces import Agent, HumanSimulator, StatefulAgent
from colbench.models.servers import waits_told
from colbench.participants import (
    find_participant,
    require_domains,
    require_given,
    require_object,
    require_tokens,
    spec_of,
    why_single,
)
from colbench.registry import get_domain
from colbench.report.baseline import load_others
from colbench.resources import RunResources
from colbench.rollout import Rollout, cell_key
from colbench.run import Run
from colbench.run_folder import RunFolder, RunRecord, make_record
from colbench.selection import GIVEN, find_tasks, require_tasks, select, task_source
from colbench.shards import in_shard
from colbench.task import Task

BROKEN_AFTER = 10
"""Number of settled dialogues after which a run stops if all of them failed in the agent's own code."""


class Observer:
    """A receiver of the events of a run. Override the methods that you need; by default they do nothing.

    An exception raised by a method ends the run.
    """

    def on_start(self, record: RunRecord) -> None:
        """Handle the start of the run: its resources have been started, and `record` is complete."""

    def on_kept(self, rollout: Rollout) -> None:
        """Handle a planned dialogue that an earlier attempt finished."""

    def on_resume(self, kept: int, total: int) -> None:
        """Handle the start of dialogues; an earlier attempt finished `kept` of the `total` planned dialogues."""

    def on_wait(self, waits: Sequence[str]) -> None:
        """Handle a change in the waits for model servers. `waits` has a line per server that the run now waits for."""

    def on_replies(self, total: int) -> None:
        """Handle the number of the agent's replies so far, in all dialogues; called every second."""

    def on_rollout(self, rollout: Rollout) -> None:
        """Handle a finished dialogue, which has been written to the run's folder."""

    def on_end(self) -> None:
        """Handle the end of the dialogues, for any reason."""


class Evaluation:
    """One run. The constructor loads tasks, agent and human, and checks the settings. It does not start the run.

    An agent outside this process is started or called once, to ask for its description. Objects given as
    `agent`, `human` or `tasks` replace these settings. Without `out`, the folder is `runs/AGENT-TASKS-DIGEST`.
    Dialogues of an earlier attempt are run again if a reason in `retry_failed` matches them; see `colbench.failures`.
    Raises UserError, which names the flag or field to fix, if a setting is wrong.
    """

    def __init__(
        self,
        config: RunConfig,
        *,
        agent: Agent | StatefulAgent | None = None,
        human: HumanSimulator | None = None,
        tasks: Sequence[Task] | None = None,
        out: Path | None = None,
        retry_failed: str | Sequence[str] = (),
    ) -> None:
        self._given = None if tasks is None else require_tasks(tasks)
        self._retried = read_reasons(retry_failed)
        config, self.tasks = self._find_tasks(read_isolation(config))
        if agent is not None:
            require_object("agent", agent, config)
            config = replace(config, agent=spec_of(agent))
        elif not config.agent:
            default = get_domain(self.tasks[0].domain).defaults.agent
            config = replace(config, agent=default)
        if human is not None:
            require_object("human", human, config)
            config = replace(config, human=spec_of(human))
        self.config = config
        self.agent: Any = agent or find_agent(config)
        self.agent_access = isolate(self.agent, config, out)
        """Description of what an isolated agent may access; empty if the agent is not isolated."""
        require_domains(self.agent, config, self.tasks)
        require_tokens(self.agent, config)
        self.human: Any = human or find_participant("human", config)
        self.others = load_others(config, self.tasks)
        self.resources = RunResources(config, self.tasks)
        pins = pins_of(self.agent, self.human, self.resources)
        self.record = make_record(config, pins, task_source(config.tasks, self.tasks))
        self.folder = RunFolder(out or default_folder(config, self.record.digest))
        self.folder.refuse_foreign()
        self._out = out
        single = why_single("agent", self.agent, given=agent is not None)
        single = single or why_single("human", self.human, given=human is not None)
        self.processes = count_processes(config, self.planned, single)
        """Number of processes for the dialogues, per node in a cluster. In a local run, 1 means this process."""

    def _find_tasks(self, config: RunConfig) -> tuple[RunConfig, list[Task]]:
        if self._given is None:
            return find_tasks(config)
        chosen = select(self._given, replace(config, tasks=GIVEN))
        return replace(config, tasks=GIVEN), chosen

    async def run(self, observer: Observer) -> None:
        """Run and score the pending dialogues. Dialogues finished by an earlier attempt are kept.

        Raises UserError if another process uses the folder, the folder contains another run, or a model server refuses
        the key or the URL. Raises EndpointError if `cell_queue.GIVE_UP_AFTER` dialogues in a row failed because of a
        model server or the human, AgentError if the first `BROKEN_AFTER` settled dialogues all failed in the agent's
        own code. Finished dialogues stay in the folder, and the next call continues the run.
        """
        async with self.executor() as executor:
            record = replace(
                self.record,
                sandbox=executor.isolation,
                environments=dict(executor.environments),
            )
            observer.on_start(record)
            with self.folder.writing(record) as writer, self.folder.reader() as reader:
                if self._given is not None:
                    lines = b"".join(encode_lines(self.tasks))
                    self.folder.write(self.folder.tasks_path.name, lines)
                earlier = Earlier(reader)
                kept = self._read_earlier(earlier, observer)
                observer.on_resume(kept, self.planned)
                try:
                    if kept < self.planned:
                        self.folder.note_versions(record)
                        pending = self._pending(earlier)
                        await self.run_pending(executor, pending, earlier, writer.append, observer)
                finally:
                    observer.on_end()

    def executor(self) -> Executor:
        """Return the executor of the run's dialogues."""
        at_once = max(1, min(self.config.concurrency, self.planned))
        if is_local(self.config) and self.processes == 1:
            return self.local_executor(at_once)
        plan = Plan(
            config=self.config,
            tasks=self.tasks,
            dialogues=at_once,
            pins=self.record.pins,
            out=self._out,
            log_folder=self._log_folder,
        )
        return remote_executor(plan, min(self.processes, at_once))

    def local_executor(self, dialogues: int) -> LocalExecutor:
        """Return the executor for dialogues in this process, up to `dialogues` at a time."""
        return LocalExecutor(
            self.config,
            self.agent,
            self.human,
            self.resources,
            dialogues=dialogues,
            log_folder=self._log_folder,
            audits_apart=audits_apart(self.planned),
        )

    @property
    def _log_folder(self) -> Path:
        return self.folder.path / "agent-log"

    @cached_property
    def planned(self) -> int:
        """Number of planned dialogues; for a shard, the number in the shard."""
        shard, trials = self.config.shard, range(self.config.trials)
        if shard is None:
            return len(self.tasks) * len(trials)
        return sum(
            in_shard(shard, task.id, task.hash, trial) for task in self.tasks for trial in trials
        )

    def _read_earlier(self, earlier: Earlier, observer: Observer) -> int:
        """Read an earlier attempt's dialogues, except those to retry; return how many are both planned and settled."""
        tasks, kept = {task.id: task for task in self.tasks}, 0
        for place, rollout in self.folder.latest():
            if matches(rollout, self._retried):
                continue
            earlier.add(place, rollout)
            if rollout.settled and self._plans(tasks.get(rollout.task_id), rollout):
                kept += 1
                observer.on_kept(rollout)
        return kept

    def _plans(self, task: Task | None, rollout: Rollout) -> bool:
        """Return True if the run plans a recorded dialogue; `task` is the dialogue's task, None if the run lacks it."""
        trial, digest = rollout.trial, self.record.digest
        return (
            task is not None
            and 0 <= trial < self.config.trials
            and in_shard(self.config.shard, task.id, task.hash, trial)
            and rollout.key == cell_key(task.id, task.hash, trial, digest)
        )

    def _pending(self, earlier: Earlier) -> Iterator[Cell]:
        """Yield the planned dialogues that are still to run.

        These are the dialogues that no earlier attempt has settled (`Rollout.settled`).
        """
        config = self.config
        cells = plan(
            self.tasks,
            config.trials,
            self.record.digest,
            config.seed,
            config.told,
            shard=config.shard,
        )
        return (cell for cell in cells if cell.key not in earlier.settled)

    async def run_pending(
        self,
        executor: Executor,
        pending: Iterable[Cell],
        earlier: Earlier,
        append: Callable[[Rollout], None],
        observer: Observer,
    ) -> None:
        """Run and score the pending dialogues; pass each finished rollout to `append`, which writes the rollout."""

        def done(rollout: Rollout) -> None:
            append(rollout)
            observer.on_rollout(rollout)

        broken_after = None if earlier.works else BROKEN_AFTER
        queue = CellQueue(pending, earlier, done, broken_after)
        async with (
            waits_told(lambda waits: observer.on_wait(list(map(str, waits)))),
            event_loop.every(REPLIES_INTERVAL, lambda: observer.on_replies(queue.replies.total)),
        ):
            try:
                await executor.run(queue)
            finally:
                self.folder.note_learned(executor.learned)
        queue.raise_stopped()


async def evaluate_async(
    *,
    agent: str | Agent | StatefulAgent = "",
    tasks: str | Sequence[Task] = "",
    human: str | HumanSimulator = "keyless",
    out: str | Path | None = None,
    observer: Observer | None = None,
    retry_failed: str | Sequence[str] = (),
    **settings: Any,
) -> Run:
    """Run an agent on tasks with a simulated human, and return the run; log a warning if the agent always failed.

    Args:
        agent: A spec, as for `colbench eval --agent`, or an object with `async def reply(messages)`. Empty: the
            rule-based agent of the tasks' domain.
        tasks: A source, as for `--tasks`, or a list of tasks. Empty: the bundled tasks of `domain`, or of backend
            programming.
        human: A spec, as for `--human`, or an object with `async def respond(task, messages)`.
        out: The run's folder. If the folder contains part of the same run, the run is resumed. Without `out`, the run
            is in a temporary folder, which is deleted after an error or with the returned object; see `Run.save`.
        observer: Receives the events of the run.
        retry_failed: Reasons for failures, such as `["timeout"]`. Dialogues in `out` that failed for one of these
            reasons are run again. A reason is a boundary, a kind of failure, `boundary:kind`, or a delivery problem of
            a reply; see `colbench.failures`.
        settings: Further fields of `RunConfig`, such as `domain`, `limit`, `trials`, `seed`, `concurrency`.

    Raises:
        UserError: An argument is wrong (the message names it), or a model server refuses the key or the URL.
        EndpointError: `cell_queue.GIVE_UP_AFTER` dialogues in a row failed because of a model server or the human.
            If `out` is set, finished dialogues are kept, and the same call resumes the run. A single such failure
            raises nothing: it is recorded in the rollout.
        AgentError: The first `BROKEN_AFTER` settled dialogues all failed in the agent's own code.
    """
    specs = {"agent": agent, "tasks": tasks, "human": human}
    for name, given in specs.items():
        require_given(name, given)
    texts = {name: spec for name, spec in specs.items() if isinstance(spec, str)}
    config = config_of({**settings, **texts}, others=("out", "observer"))
    if not isinstance(out, str | os.PathLike | None):
        raise UserError(f"out: expected the path of a folder, got {out!r}")
    if not isinstance(observer, Observer | None):
        raise UserError(f"observer: expected a colbench.Observer, got {observer!r}")
    folder = Path(out or tempfile.mkdtemp(prefix="colbench-run-"))
    try:
        evaluation = Evaluation(
            config,
            agent=None if isinstance(agent, str) else agent,
            human=None if isinstance(human, str) else human,
            tasks=None if isinstance(tasks, str) else tasks,
            out=folder,
            retry_failed=retry_failed,
        )
        await evaluation.run(observer or Observer())
        if broken := broken_agent(rollout for _, rollout in evaluation.folder.latest()):
            logging.getLogger("colbench").warning("%s", printable(broken))
    except BaseException:
        if not out:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Run(evaluation.folder, tasks=evaluation.tasks, temporary=not out)


def evaluate(
    *,
    agent: str | Agent | StatefulAgent = "",
    tasks: str | Sequence[Task] = "",
    human: str | HumanSimulator = "keyless",
    out: str | Path | None = None,
    observer: Observer | None = None,
    retry_failed: str | Sequence[str] = (),
    **settings: Any,
) -> Run:
    """Run an agent on tasks with a simulated human, and return the run; see `evaluate_async` for the arguments.

    This also works while an event loop runs, as in a notebook: the run then uses a thread with a separate loop.
    Objects that are bound to the running loop need `evaluate_async`.
    """

    def run() -> Run:
        work = evaluate_async(
            agent=agent,
            tasks=tasks,
            human=human,
            out=out,
            observer=observer,
            retry_failed=retry_failed,
            **settings,
        )
        return event_loop.run(work)

    if not _loop_runs():
        return run()
    with ThreadPoolExecutor(1, thread_name_prefix="colbench") as thread:
        return thread.submit(run).result()


def _loop_runs() -> bool:
    """Return True if an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def default_folder(config: RunConfig, config_digest: str) -> Path:
    """Return `runs/AGENT-TASKS-DIGEST`. The digest depends on the pins, `limit`, `task_ids` and `shard`."""
    selection: list[object] = [config.limit, config.task_ids]
    if config.shard:
        selection.append(config.shard)
    chosen = digest([config_digest, selection]) if any(selection) else config_digest
    return Path("runs") / "-".join((_slug(config.agent), _slug(config.tasks), chosen[:8]))


def _slug(spec: str) -> str:
    path = Path(spec)
    name = path.stem if path.suffix == ".jsonl" else without_address(spec)
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:40]
