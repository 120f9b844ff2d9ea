"""`colbench score`: score the answers of a run again, without asking any model, and say what changed."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.cli.equipment import Equipment
from colbench.cli.evaluate import exit_code
from colbench.cli.options import EQUIPMENT, add_config_flags, read_config
from colbench.cli.progress import progress
from colbench.cli.report import load_baseline, tasks_of, write_and_show
from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.rollout import Failure, Rollout, encode_rollout
from colbench.run_folder import RunFolder
from colbench.score import Score
from colbench.task import Task


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("score", help="score a run again", description=__doc__)
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    add_config_flags(parser, only=EQUIPMENT)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score, show the difference, and report.

    Returns 1 if cells are unscored that could be scored, or keep old verdicts because scoring failed, else 0.
    """
    folder = RunFolder(Path(args.folder))
    record = folder.record()
    config = read_config(args, base=record.config)
    tasks = tasks_of(record)
    by_id = {task.id: task for task in tasks}
    baseline = load_baseline(config, tasks)
    with folder.lock():
        before = folder.rollouts()
        if not before:
            raise UserError(f"{folder.path} holds no rollouts to score")
        equipment = Equipment(config, tasks)
        _require_clip(folder, before, equipment)
        scored = asyncio.run(_rescore(before, by_id, equipment, config))
        after, lost = keep_verdicts(before, scored)
        folder.write("rollouts.jsonl", b"".join(map(encode_rollout, after)))
        folder.save(replace(record, config=config, browser=equipment.browser))
    show_delta(before, after)
    code = exit_code(write_and_show(folder, tasks, config, baseline))
    if lost:
        _warn(lost)
    return 1 if lost else code


def _require_clip(folder: RunFolder, rollouts: Sequence[Rollout], equipment: Equipment) -> None:
    """Raise UserError where scoring again would take away cosines that cannot be computed here."""
    if equipment.clip is None and any(map(_has_cosine, rollouts)):
        raise UserError(
            f"{folder.path}: its pages have cosines, and there are no CLIP weights here to compute them again; "
            "nothing was written. Name the weights with --clip-weights (and --allow-other-clip if they are "
            "not the paper's)"
        )


def _has_cosine(rollout: Rollout) -> bool:
    scores = [*rollout.scores.values(), *(turn.score for turn in rollout.turns)]
    return any(score is not None and "cosine" in score.metrics for score in scores)


def keep_verdicts(
    before: Sequence[Rollout], after: Sequence[Rollout]
) -> tuple[list[Rollout], list[Failure]]:
    """The rollouts after scoring, but as they were where they had verdicts and scoring failed; and why it did."""
    kept, failures = [], []
    for old, new in zip(before, after, strict=True):
        lost = new.failure if old.settled and not new.settled else None
        kept.append(old if lost else new)
        if lost:
            failures.append(lost)
    return kept, failures


def _warn(lost: Sequence[Failure]) -> None:
    from colbench.cli.console import errors, printable
    from colbench.report.text import count

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
    rollouts: Sequence[Rollout], tasks: dict[str, Task], equipment: Equipment, config: RunConfig
) -> list[Rollout]:
    from colbench.runner import score_rollout

    slots = asyncio.Semaphore(2 * equipment.workers)
    async with equipment:
        judges = equipment.scorers()

        async def again(rollout: Rollout) -> Rollout:
            if rollout.answer is None or rollout.task_id not in tasks:
                return rollout
            task = tasks[rollout.task_id]
            async with slots:
                scored = await score_rollout(judges[task.domain], task, rollout, rollout.answer)
            seen(scored)
            return scored

        with progress(len(rollouts), [r for r in rollouts if r.answer is None], config) as seen:
            return await asyncio.gather(*map(again, rollouts))


def show_delta(before: Sequence[Rollout], after: Sequence[Rollout]) -> None:
    """Print, for each scoring mode, the mean before and after and how many verdicts changed."""
    from rich.table import Table

    from colbench.cli.console import console

    table = Table(box=None, pad_edge=False, title="scored again", title_justify="left")
    for column in ("mode", "before", "after", "delta", "changed"):
        table.add_column(column, justify="left" if column == "mode" else "right")
    for mode in ("default", "official"):
        for name, measure in ((mode, _score), (f"{mode}, layout", _layout)):
            old, new = _values(before, mode, measure), _values(after, mode, measure)
            if old or new or measure is _score:
                changed = sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())
                table.add_row(name, _mean(old), _mean(new), _delta(old, new), str(changed))
    console().print(table)


def _values(
    rollouts: Sequence[Rollout], mode: str, measure: Callable[[Score], float | None]
) -> dict[str, float]:
    scores = {rollout.key: rollout.scores.get(mode) for rollout in rollouts}
    return {
        key: value
        for key, score in scores.items()
        if score is not None and (value := measure(score)) is not None
    }


def _score(score: Score) -> float | None:
    return score.value


def _layout(score: Score) -> float | None:
    return score.metrics.get("layout")


def _mean(values: dict[str, float]) -> str:
    return f"{100 * sum(values.values()) / len(values):.2f} %" if values else "unscored"


def _delta(old: dict[str, float], new: dict[str, float]) -> str:
    if not old or not new:
        return "-"
    return f"{100 * (sum(new.values()) / len(new) - sum(old.values()) / len(old)):+.2f}"
