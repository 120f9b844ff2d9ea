"""Writes the report of a run into its folder."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.presentation import ReportPages
from colbench.registry import get_domain
from colbench.report.baseline import Others
from colbench.report.model import RunReport
from colbench.report.page import render_page
from colbench.report.summary import summarize
from colbench.report.warnings import warnings
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder, RunRecord
from colbench.shards import has_cells
from colbench.task import Task


def write_report(
    folder: RunFolder,
    tasks: Sequence[Task],
    config: RunConfig,
    others: Others | None = None,
) -> RunReport:
    """Write `report.json`, `report.html` and the pages that domains add, and return the report.

    It follows from the folder's `run.json` and `rollouts.jsonl`. `tasks`: those of the run, hidden parts included.
    Raises DataError when a file of the run is malformed, UserError when the folder cannot be written, or one of
    the `others` has none of the tasks.
    """
    record, rollouts = folder.record(), folder.rollouts()
    tasks = [task for task in tasks if has_cells(config.shard, task, config.trials)]
    report = summarize(tasks, config.trials, rollouts, config, others or Others())
    pages = _pages(folder, record, config, tasks, rollouts)
    report = replace(
        report,
        warnings=tuple(warnings(report, config, record, rollouts)),
        pages={each.name: next(iter(each.files)) for each in pages.values()},
    )
    for name, content in (file for each in pages.values() for file in each.files.items()):
        folder.write(name, content.encode())
    folder.write("report.json", msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    folder.write("report.html", render_page(report, record, tasks, rollouts, pages).encode())
    return report


def _pages(
    folder: RunFolder,
    record: RunRecord,
    config: RunConfig,
    tasks: Sequence[Task],
    rollouts: Sequence[Rollout],
) -> dict[str, ReportPages]:
    """Return the pages that domains add to the report, by domain."""
    found: dict[str, ReportPages] = {}
    for name in sorted({task.domain for task in tasks}):
        pages = get_domain(name).report_pages(
            folder.path,
            config,
            record.environments.get(name, ""),
            [task for task in tasks if task.domain == name],
            [rollout for rollout in rollouts if rollout.domain == name],
        )
        if pages:
            found[name] = pages
    return found
