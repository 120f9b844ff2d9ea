"""`colbench score`: score the answers of a run again, without repeating its dialogues, and show what changed.

Settings given here, such as --scoring, are stored in `run.json`, so they also apply to later reports and leaderboard
submissions; --executor and --processes are not stored. To change the mode of a single report, use `colbench report
--scoring MODE` instead.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from msgspec.structs import replace

from colbench.cli.evaluate import exit_code
from colbench.cli.report import write_and_show
from colbench.cli.rescored import Delta, Lost
from colbench.command import describe
from colbench.config import RunConfig, settings, workers
from colbench.console import add_output_flags
from colbench.errors import UserError
from colbench.executors import Executor
from colbench.executors.choice import count_processes, is_local, remote_executor
from colbench.executors.local import LocalExecutor
from colbench.executors.remote import Plan
from colbench.executors.rescoring import rescore
from colbench.flags import add_config_flags, read_config
from colbench.progress import Tally, progress
from colbench.registry import get_domain
from colbench.report.baseline import load_others
from colbench.resources import RunResources
from colbench.rollout import Rollout, encode_rollout, placed_rollouts
from colbench.rollout_file import StoredRollouts
from colbench.run_folder import RunFolder
from colbench.selection import recorded_tasks
from colbench.task import Task

FLAGS = (
    "scoring",
    "scorers",
    "baseline",
    "ceiling",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
    "sandbox_workers",
    "sandbox_tier",
    "allow_unsafe_sandbox",
    "browser",
    "browser_workers",
)
"""The settings that can be changed when a run is scored again; changes are recorded with the run."""
WHERE = ("executor", "processes")
"""The settings for where answers are scored; they apply only to this command and are not recorded."""
AT_ONCE = 32
"""Maximum number of answers in progress: being scored, or waiting for a sandbox worker or browser."""
AHEAD = 8
"""Maximum number of answers in the queue of a local executor, per sandbox worker."""
AHEAD_OF_A_CLUSTER = 1024
"""Maximum number of answers in the queue of a cluster, whose number of nodes may change."""


def add_to(commands: Any) -> None:
    """Add the command `score` to the parser."""
    parser = commands.add_parser("score", description=describe(__doc__))
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    add_config_flags(parser, only=(*FLAGS, *WHERE))
    add_output_flags(parser, document="the report")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score the answers again, show what changed, and write the report.

    If scoring a dialogue fails, the dialogue keeps its old verdict or, without an old verdict, stays unscored. Return 1
    if scoring failed, if any dialogue is unscored, or if a domain has no scored dialogue. Otherwise, return 0.
    """
    folder = RunFolder(Path(args.folder))
    record = folder.record()
    usual = {name: getattr(RunConfig(), name) for name in WHERE}
    config = read_config(args, base=replace(record.config, **usual))
    tasks = recorded_tasks(folder, record)
    by_id = {task.id: task for task in tasks}
    others = load_others(config, tasks)
    with folder.lock():
        resources = RunResources(config, tasks)
        places = _places(folder, resources)
        before = StoredRollouts(folder.rollouts_path, places)
        with folder.replacing(folder.rollouts_path.name) as file:
            executor = _executor(config, tasks, resources, len(before))
            delta, lost = asyncio.run(_rescore(before, by_id, executor, config, file))
        recorded = {name: getattr(record.config, name) for name in WHERE}
        folder.save(
            replace(
                record,
                config=replace(config, **recorded),
                sandbox=executor.isolation,
                environments=dict(executor.environments),
            )
        )
    delta.show()
    show_recorded(folder, record.config, config)
    code = exit_code(write_and_show(folder, tasks, config, others, as_json=args.json))
    if lost:
        warn(lost)
    return 1 if lost else code


def _places(folder: RunFolder, resources: RunResources) -> list[int]:
    """Return the byte offset of each dialogue's last line in the run's file.

    A dialogue that was run several times has several lines, and the last one counts. The offsets are in the order of
    the dialogues' first lines. Raises UserError if the run has no dialogues, or if a dialogue has a metric that cannot
    be recomputed on this machine.
    """
    places: dict[str, int] = {}
    lacking = {name: set(tools.lacking()) for name, tools in resources.by_domain.items()}
    if folder.rollouts_path.exists():
        for placed in placed_rollouts(folder.rollouts_path):
            places[placed.rollout.key] = placed.start
            _require_tools(folder, placed.rollout, lacking)
    if not places:
        raise UserError(f"{folder.path} has no rollouts to score")
    return list(places.values())


def _require_tools(
    folder: RunFolder, rollout: Rollout, lacking: Mapping[str, Collection[str]]
) -> None:
    lost = [metric for metric in sorted(lacking.get(rollout.domain, ())) if _has(rollout, metric)]
    if lost:
        raise UserError(
            f"{folder.path}: the metric {lost[0]} of the run's {rollout.domain} answers "
            f"cannot be recomputed on this machine; nothing was written. "
            f"{get_domain(rollout.domain).remedy}"
        )


def _has(rollout: Rollout, metric: str) -> bool:
    scores = [*rollout.scores.values(), *(turn.score for turn in rollout.turns)]
    return any(score is not None and metric in score.metrics for score in scores)


def warn(lost: Lost) -> None:
    """Print, even with `--quiet`, how many dialogues could not be scored again, and the first reason."""
    from colbench.console import printable
    from colbench.numbers import count

    some = count(lost.dialogues, "dialogue")
    keep = "keeps its score" if lost.dialogues == 1 else "keep their scores"
    reason = printable(lost.reason)
    print(f"{some} could not be rescored and {keep}: {reason}", file=sys.stderr)


def _executor(
    config: RunConfig, tasks: Sequence[Task], resources: RunResources, answers: int
) -> Executor:
    """Return the executor that scores: this process, several processes of this machine, or the nodes of a cluster."""
    processes = count_processes(config, answers, "")
    at_once = min(AT_ONCE, answers)
    if is_local(config) and processes == 1:
        return LocalExecutor(config, None, None, resources, dialogues=at_once)
    plan = Plan(config=config, tasks=tasks, dialogues=at_once, pins=resources.pins, speaks=False)
    return remote_executor(plan, min(processes, at_once))


async def _rescore(
    before: Sequence[Rollout],
    tasks: dict[str, Task],
    executor: Executor,
    config: RunConfig,
    file: BinaryIO,
) -> tuple[Delta, Lost]:
    """Score rollouts again and write them to a file in the same order; return the changes and the failures.

    If a settled rollout cannot be scored now, it is written unchanged and counted as a failure.
    """
    delta, lost = Delta(), Lost()
    most = AHEAD * workers(config.sandbox_workers) if is_local(config) else AHEAD_OF_A_CLUSTER
    async with executor:
        with progress(Tally(config), len(before)) as display:

            def take(old: Rollout, scored: Rollout) -> None:
                failure = scored.failure if old.settled and not scored.settled else None
                new = old if failure else scored
                if failure:
                    lost.add(failure)
                file.write(encode_rollout(new))
                delta.add(old, new)
                display.count(new)

            await rescore(executor, before, tasks, take, most=most)
    return delta, lost


def show_recorded(folder: RunFolder, before: RunConfig, after: RunConfig) -> None:
    """Print which settings in the run's folder have changed, if any."""
    from colbench.console import console

    changed = [name for name in FLAGS if getattr(before, name) != getattr(after, name)]
    if changed:
        flags = ", ".join(settings()[name].flag for name in changed)
        console().print(
            f"{folder.record_path}: {flags} recorded for this and all later reports of the run; "
            "`colbench report --scoring MODE` changes a single report",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
