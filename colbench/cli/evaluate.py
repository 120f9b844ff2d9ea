"""`colbench eval`: run an agent on tasks with a simulated human, and report."""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from colbench.cli.equipment import Equipment
from colbench.cli.options import add_config_flags, read_config
from colbench.cli.selection import find_tasks
from colbench.cli.shut_in import read_walls, shut_in
from colbench.command import printable
from colbench.config import RunConfig, digest, without_address
from colbench.errors import ColBenchError, EndpointError, UserError, describe_exception
from colbench.rollout import Rollout
from colbench.task import Domain, Task

if TYPE_CHECKING:
    from colbench.report.model import RunReport
    from colbench.run_folder import TaskSource
    from colbench.runner import Cell, Runner

Role = Literal["agent", "human"]
KEYLESS_AGENTS: dict[Domain, str] = {"backend": "interviewer", "frontend": "designer"}


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("eval", help="run an agent and report", description=__doc__)
    add_config_flags(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="the run's folder (default: runs/AGENT-TASKS-…)"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run, or resume, and report. Returns the exit code."""
    config = read_config(args)
    evaluation = Evaluation(config, Path(args.out) if args.out else None)
    evaluation.show_plan()
    if args.dry_run:
        return 0
    try:
        asyncio.run(evaluation.run())
    except EndpointError as error:
        stopped = f"colbench: stopped: {printable(str(error))}; the same command goes on from here"
        print(stopped, file=sys.stderr)
    return evaluation.finish()


class Evaluation:
    """One `colbench eval`: everything that its flags mean, resolved before anything is started."""

    def __init__(self, config: RunConfig, out: Path | None) -> None:
        from colbench.cli.report import load_baseline
        from colbench.plugins import describe
        from colbench.run_folder import RunFolder, make_record

        config, self.tasks = find_tasks(read_walls(config))
        config = replace(config, agent=config.agent or KEYLESS_AGENTS[self.tasks[0].domain])
        self.config = config
        self.agent = self.plugin("agent", config)
        self.agent_walls = shut_in(self.agent, config, out)
        require_domains(self.agent, config, self.tasks)
        require_tokens(self.agent, config)
        self.human = self.plugin("human", config)
        self.baseline = load_baseline(config, self.tasks)
        self.equipment = Equipment(config, self.tasks)
        resolved = {"agent": describe(self.agent), "human": describe(self.human)}
        if self.equipment.browser:
            resolved["browser"] = {"environment": self.equipment.browser}
        else:
            resolved = {role: _without_pages(said) for role, said in resolved.items()}
        self.record = make_record(config, resolved, task_source(config, self.tasks))
        self.folder = RunFolder(out or default_folder(config, self.record.digest))

    def plugin(self, role: Role, config: RunConfig) -> Any:
        """Who takes a part, as the flags say."""
        from colbench.plugins import resolve

        return resolve(role, getattr(config, role), plugin_args(config, role))

    def show_plan(self) -> None:
        """Print what the flags were resolved to."""
        from colbench.report.text import count

        tasks, trials = len(self.tasks), self.config.trials
        cells = f"{count(tasks, 'task')} x {trials} = {count(tasks * trials, 'dialogue')}"
        turns = count(self.config.max_turns, "turn")
        for name, value in (
            ("agent", f"{self.config.agent} ({self.record.pins['agent']['class']})"),
            ("human", f"{self.config.human} ({self.record.pins['human']['class']})"),
            ("tasks", f"{self.config.tasks}: {cells} of at most {turns}"),
            ("run", f"{self.folder.path}  (configuration {self.record.digest[:12]})"),
        ):
            show_line(name, value)
        if self.agent_walls:
            show_line("shut in", self.agent_walls)

    async def run(self) -> None:
        """Play and score what is still owed."""
        from colbench.cli.progress import show_kept
        from colbench.runner import plan

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _current_task().cancel)
        async with self.equipment as equipment:
            record = replace(self.record, sandbox=equipment.walls, browser=equipment.browser)
            for name in ("sandbox", "browser"):
                if getattr(record, name):
                    show_line(name, getattr(record, name))
            with self.folder.writing(record) as writer:
                earlier = {rollout.key: rollout for rollout in self.folder.rollouts()}
                cells = plan(self.tasks, self.config.trials, record.digest, self.config.seed)
                owed = [cell for cell in cells if not _settled(earlier.get(cell.key))]
                kept = [earlier[cell.key] for cell in cells if _settled(earlier.get(cell.key))]
                if owed:
                    await self.work_off(owed, kept, earlier, writer.append)
                else:
                    show_kept(len(kept), len(kept))

    async def work_off(
        self,
        owed: Sequence[Cell],
        kept: Sequence[Rollout],
        earlier: dict[str, Rollout],
        append: Callable[[Rollout], None],
    ) -> None:
        """Play and score the cells that are owed; `append` writes what is finished."""
        from colbench.cli.progress import progress

        config = self.config
        async with AsyncExitStack() as stack:
            runner = await self.started(stack, min(config.concurrency, len(owed)))
            with progress(len(owed) + len(kept), kept, config) as seen:

                def done(rollout: Rollout) -> None:
                    append(rollout)
                    seen(rollout)

                await runner.run(owed, earlier, done)

    async def started(self, stack: AsyncExitStack, concurrency: int) -> Runner:
        """The runner, with agent and human started; these stop with the stack."""
        from colbench.interfaces import LogKeeper, Viewer
        from colbench.runner import Runner

        if isinstance(self.agent, LogKeeper):
            self.agent.use_log_folder(self.folder.path / "agent-log")
        await start(stack, "agent", self.agent)  # first: the human may use a server it starts
        await start(stack, "human", self.human)
        for plugin in (self.agent, self.human):
            if self.equipment.renderer and isinstance(plugin, Viewer):
                plugin.use_renderer(self.equipment.renderer)
        return Runner(
            agent=self.agent,
            human=self.human,
            scorers=self.equipment.scorers(),
            max_turns=self.config.max_turns,
            concurrency=concurrency,
            dialogue_timeout=self.config.dialogue_timeout,
            scoring_slots=self.equipment.workers,
            record_tokens=self.config.record_tokens,
        )

    def finish(self) -> int:
        """Write and show the report. Returns 1 if a cell is still owed, else 0."""
        from colbench.cli.report import write_and_show

        report = write_and_show(self.folder, self.tasks, self.config, self.baseline)
        code = exit_code(report)
        latest = {rollout.key: rollout for rollout in self.folder.rollouts()}
        if code and any(not rollout.settled for rollout in latest.values()):
            print(
                "colbench: what is unscored is tried again by the same command",
                file=sys.stderr,
            )
        return code


def exit_code(report: RunReport) -> int:
    """1 if cells are unscored, else 0. Cells of a task that nothing can judge do not count as such."""
    return 1 if any(domain.unscored for domain in report.domains.values()) else 0


def require_domains(agent: object, config: RunConfig, tasks: Sequence[Task]) -> None:
    """Raise UserError when an agent that says what it is for is given tasks of another domain."""
    known: Sequence[Domain] | None = getattr(agent, "domains", None)
    other = next((task.domain for task in tasks if known and task.domain not in known), None)
    if known and other:
        raise UserError(
            f"--agent {config.agent}: is for {' and '.join(known)} tasks, and {config.tasks} has {other} ones; "
            f"name another agent, such as {KEYLESS_AGENTS[other]}, or choose tasks with --domain {known[0]}"
        )


def require_tokens(agent: object, config: RunConfig) -> None:
    """Raise UserError when tokens shall be recorded of an agent that has none."""
    if config.record_tokens and not getattr(agent, "records_tokens", False):
        raise UserError(
            f"--record-tokens: {config.agent} gives no tokens; vllm:MODEL does, and openai:MODEL@URL where that "
            "server is vLLM"
        )


def plugin_args(config: RunConfig, role: str) -> dict[str, Any]:
    """The arguments for the agent or the human, the prompt file among them."""
    args = dict(getattr(config, f"{role}_args"))
    prompt = getattr(config, f"{role}_prompt")
    return {**args, "prompt": prompt} if prompt else args


def _without_pages(said: dict[str, str]) -> dict[str, str]:
    """What a plug-in says of itself but for pages, for a run that has none."""
    return {name: value for name, value in said.items() if not name.startswith("frontend_")}


def default_folder(config: RunConfig, config_digest: str) -> Path:
    """`runs/AGENT-TASKS-DIGEST`: the same command finds its run again, another selection of tasks its own."""
    selection = [config.limit, config.task_ids]
    chosen = digest([config_digest, selection]) if any(selection) else config_digest
    return Path("runs") / "-".join((_slug(config.agent), _slug(config.tasks), chosen[:8]))


def _slug(spec: str) -> str:
    path = Path(spec)
    name = path.stem if path.suffix == ".jsonl" else without_address(spec)
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:40]


def task_source(config: RunConfig, tasks: Sequence[Task]) -> TaskSource:
    """What a run records of its tasks."""
    from colbench.run_folder import TaskSource

    hashes = digest([[task.id, task.hash] for task in tasks])
    return TaskSource(source=config.tasks, count=len(tasks), hash=hashes)


def show_line(name: str, value: str) -> None:
    """Print one line of what a command was resolved to."""
    from colbench.cli.console import console

    console().print(f"[dim]{name:<8}[/dim]{value}", highlight=False, soft_wrap=True)


def _settled(rollout: Rollout | None) -> bool:
    return rollout is not None and rollout.settled


async def start(stack: AsyncExitStack, role: str, plugin: Any) -> None:
    """Enter a plug-in that wants to be entered; leaving it may fail without harm to what was done."""
    if not hasattr(plugin, "__aenter__"):
        return
    try:
        await plugin.__aenter__()
    except ColBenchError:
        raise
    except Exception as cause:
        raise UserError(f"--{role}: starting it failed\n{describe_exception(cause)}") from cause

    async def stop(*error: Any) -> None:
        try:
            await plugin.__aexit__(*error)
        except Exception as cause:
            said = describe_exception(cause)
            logging.getLogger("colbench").warning("the %s did not stop well: %s", role, said)

    stack.push_async_exit(stop)


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("outside a task")
    return task
