"""`colbench eval`: run an agent on tasks with a simulated human, and report."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.command import describe, printable
from colbench.errors import EndpointError
from colbench.evaluation import Evaluation
from colbench.flags import add_config_flags, read_config
from colbench.numbers import count
from colbench.progress import ConsoleObserver, show_line

if TYPE_CHECKING:
    from colbench.report.model import RunReport


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "eval", help="run an agent on tasks, and report", description=describe(__doc__)
    )
    add_config_flags(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="the run's folder (default: runs/AGENT-TASKS-…)"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be run, and stop")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run, or resume, and report. Return the exit code."""
    config = read_config(args)
    evaluation = Evaluation(config, out=Path(args.out) if args.out else None)
    show_plan(evaluation)
    if args.dry_run:
        return 0
    try:
        asyncio.run(stoppable(evaluation.run(ConsoleObserver())))
    except EndpointError as error:
        stopped = f"colbench: stopped: {printable(str(error))}; the same command continues"
        print(stopped, file=sys.stderr)
    return finish(evaluation)


def show_plan(evaluation: Evaluation) -> None:
    """Print what the flags were resolved to."""
    config, record = evaluation.config, evaluation.record
    tasks, trials = len(evaluation.tasks), config.trials
    cells = f"{count(tasks, 'task')} x {trials} = {count(tasks * trials, 'dialogue')}"
    turns = count(config.max_turns, "turn")
    for name, value in (
        ("agent", f"{config.agent} ({record.pins['agent']['class']})"),
        ("human", f"{config.human} ({record.pins['human']['class']})"),
        ("tasks", f"{config.tasks}: {cells} of at most {turns}"),
        ("run", f"{evaluation.folder.path}  (configuration {record.digest[:12]})"),
    ):
        show_line(name, value)
    if evaluation.agent_isolation:
        show_line("access", evaluation.agent_isolation)


def finish(evaluation: Evaluation) -> int:
    """Write and show the report. Return 1 if a cell is still pending, else 0."""
    from colbench.cli.report import write_and_show

    report = write_and_show(
        evaluation.folder, evaluation.tasks, evaluation.config, evaluation.baseline
    )
    code = exit_code(report)
    latest = {rollout.key: rollout for rollout in evaluation.folder.rollouts()}
    if code and any(not rollout.settled for rollout in latest.values()):
        print("colbench: the same command retries unscored dialogues", file=sys.stderr)
    return code


def exit_code(report: RunReport) -> int:
    """Return 1 if cells are unscored, else 0. Cells of a task that nothing can judge do not count as such."""
    return 1 if any(domain.unscored for domain in report.domains.values()) else 0


async def stoppable(work: Coroutine[Any, Any, None]) -> None:
    """Await work that SIGTERM cancels, so that everything is stopped in order."""
    task = asyncio.current_task()
    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await work
