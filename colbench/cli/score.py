"""`colbench score`: score the answers of a run again, without asking any model, and show what changed.

Settings that are given, such as --scoring, stay those of the run (`run.json`) in later reports and bundles;
`colbench report --scoring MODE` changes one report alone.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.cli.evaluate import exit_code
from colbench.cli.report import write_and_show
from colbench.command import describe
from colbench.config import RunConfig, settings
from colbench.domain import Metric
from colbench.errors import UserError
from colbench.flags import add_config_flags, read_config
from colbench.progress import progress
from colbench.registry import get_domain
from colbench.report.baseline import load_others
from colbench.resources import RunResources
from colbench.rollout import Failure, Rollout, encode_rollout
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
"""The fields that may change when a run is scored again."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "score", help="score the answers of a run again", description=describe(__doc__)
    )
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    add_config_flags(parser, only=FLAGS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score, show the difference, and report.

    Return 1 if scoring failed for a dialogue, which stays unscored or keeps its old verdict, else 0.
    """
    folder = RunFolder(Path(args.folder))
    record = folder.record()
    config = read_config(args, base=record.config)
    tasks = recorded_tasks(folder, record)
    by_id = {task.id: task for task in tasks}
    others = load_others(config, tasks)
    with folder.lock():
        before = folder.rollouts()
        if not before:
            raise UserError(f"{folder.path} has no rollouts to score")
        resources = RunResources(config, tasks)
        _require_tools(folder, before, resources)
        scored = asyncio.run(_rescore(before, by_id, resources, config))
        after, lost = keep_verdicts(before, scored)
        folder.write("rollouts.jsonl", b"".join(map(encode_rollout, after)))
        folder.save(replace(record, config=config, environments=resources.environments))
    show_delta(before, after)
    show_recorded(folder, record.config, config)
    code = exit_code(write_and_show(folder, tasks, config, others))
    if lost:
        _warn(lost)
    return 1 if lost else code


def _require_tools(folder: RunFolder, rollouts: Sequence[Rollout], resources: RunResources) -> None:
    """Raise UserError if scoring again would remove metrics that cannot be computed here."""
    for name, tools in resources.by_domain.items():
        lost = [metric for metric in tools.lacking() if any(_has(r, metric) for r in rollouts)]
        if lost:
            raise UserError(
                f"{folder.path}: its {name} answers have the {lost[0]}, which cannot be computed again here; "
                f"nothing was written. {get_domain(name).remedy}"
            )


def _has(rollout: Rollout, metric: str) -> bool:
    scores = [*rollout.scores.values(), *(turn.score for turn in rollout.turns)]
    return any(score is not None and metric in score.metrics for score in scores)


def keep_verdicts(
    before: Sequence[Rollout], after: Sequence[Rollout]
) -> tuple[list[Rollout], list[Failure]]:
    """Return the rollouts after scoring, with old verdicts where scoring failed, and the failures."""
    kept, failures = [], []
    for old, new in zip(before, after, strict=True):
        lost = new.failure if old.settled and not new.settled else None
        kept.append(old if lost else new)
        if lost:
            failures.append(lost)
    return kept, failures


def _warn(lost: Sequence[Failure]) -> None:
    from colbench.console import errors, printable
    from colbench.numbers import count

    some = count(len(lost), "dialogue")
    keep = "keeps its verdict" if len(lost) == 1 else "keep their verdicts"
    reason = printable(lost[0].reason)
    errors().print(
        f"{some} could not be scored again and {keep}: {reason}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


async def _rescore(
    rollouts: Sequence[Rollout], tasks: dict[str, Task], resources: RunResources, config: RunConfig
) -> list[Rollout]:
    from colbench.runner import score_rollout

    slots = asyncio.Semaphore(2 * resources.workers)
    async with resources:
        judges = resources.scorers()

        async def again(rollout: Rollout) -> Rollout:
            if rollout.answer is None or rollout.task_id not in tasks:
                return rollout
            task = tasks[rollout.task_id]
            async with slots:
                scored = await score_rollout(judges[task.domain], task, rollout, rollout.answer)
            display.count(scored)
            return scored

        with progress(len(rollouts), [r for r in rollouts if r.answer is None], config) as display:
            return await asyncio.gather(*map(again, rollouts))


def show_delta(before: Sequence[Rollout], after: Sequence[Rollout]) -> None:
    """Print, for each scoring mode, the mean before and after and how many verdicts changed."""
    from rich.table import Table

    from colbench.console import console

    table = Table(box=None, pad_edge=False, title="scored again", title_justify="left")
    for column in ("mode", "before", "after", "delta", "changed"):
        table.add_column(column, justify="left" if column == "mode" else "right")
    for label, mode, metric in _measures(before, after):
        old, new = _values(before, mode, metric), _values(after, mode, metric)
        if old or new:
            changed = sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())
            table.add_row(label, _mean(old), _mean(new), _delta(old, new), str(changed))
    console().print(table)


def show_recorded(folder: RunFolder, before: RunConfig, after: RunConfig) -> None:
    """Print which settings of the run were changed for good, if any."""
    from colbench.console import console

    changed = [name for name in FLAGS if getattr(before, name) != getattr(after, name)]
    if changed:
        flags = ", ".join(settings()[name].flag for name in changed)
        console().print(
            f"{folder.record_path}: {flags} recorded, also for later reports of this run; "
            "`colbench report --scoring MODE` changes one report alone",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _measures(*runs: Sequence[Rollout]) -> Iterator[tuple[str, str, Metric]]:
    """Yield label, scoring mode and metric of each row of the table."""
    for name in dict.fromkeys(rollout.domain for run in runs for rollout in run):
        domain = get_domain(name)
        for mode in domain.modes:
            yield mode, mode, domain.primary
            if domain.fallback:
                yield f"{mode}, {domain.fallback.label}", mode, domain.fallback


def _values(rollouts: Sequence[Rollout], mode: str, metric: Metric) -> dict[str, float]:
    return {
        rollout.key: value
        for rollout in rollouts
        if (value := metric.of(rollout.scores.get(mode))) is not None
    }


def _mean(values: dict[str, float]) -> str:
    return f"{100 * sum(values.values()) / len(values):.2f} %" if values else "unscored"


def _delta(old: dict[str, float], new: dict[str, float]) -> str:
    if not old or not new:
        return "-"
    return f"{100 * (sum(new.values()) / len(new) - sum(old.values()) / len(old)):+.2f}"
