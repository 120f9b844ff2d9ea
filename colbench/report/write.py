"""Writes the report of a run into its folder."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.pages.store import RenderStore
from colbench.report.album import Album
from colbench.report.baseline import Baseline
from colbench.report.gallery import page_name, render_gallery
from colbench.report.model import RunReport
from colbench.report.page import render_page
from colbench.report.summary import summarize
from colbench.report.warnings import warnings
from colbench.run_folder import RunFolder
from colbench.task import FRONTEND, Task


def write_report(
    folder: RunFolder,
    tasks: Sequence[Task],
    config: RunConfig,
    baseline: Baseline | None = None,
    store: RenderStore | None = None,
) -> RunReport:
    """Write `report.json` and `report.html` from the folder's `run.json` and `rollouts.jsonl`.

    Of frontend design also `gallery.html`, with pictures from `store`, or from the user's own one.
    `tasks`: those of the run, hidden parts included. Raises DataError when a file of the run is malformed,
    UserError when the folder cannot be written, or the baseline has none of the tasks.
    """
    record, rollouts = folder.record(), folder.rollouts()
    report = summarize(tasks, config.trials, rollouts, config, baseline)
    report = replace(report, warnings=tuple(warnings(report, config, record, rollouts)))
    designs = [task for task in tasks if task.domain == "frontend"]
    if designs:
        album = Album(folder.path, store or RenderStore(), record.environments.get(FRONTEND, ""))
        for number, page in enumerate(render_gallery(report, designs, rollouts, album), start=1):
            folder.write(page_name(number), page.encode())
    folder.write("report.json", msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    folder.write("report.html", render_page(report, record, tasks, rollouts).encode())
    return report
