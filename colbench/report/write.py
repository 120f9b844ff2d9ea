"""Writing the report of a run into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.presentation import ReportPages
from colbench.registry import get_domain
from colbench.report.baseline import Others
from colbench.report.cells import Cells, Measured, measure
from colbench.report.model import RunReport
from colbench.report.page import render_pages
from colbench.report.summary import run_report
from colbench.report.warnings import warnings
from colbench.rollout_file import StoredRollouts
from colbench.run_folder import RunFolder, RunRecord
from colbench.task import Task


class Draft(NamedTuple):
    """A report that has not been written to files yet, with the data for its pages."""

    report: RunReport
    record: RunRecord
    cells: Mapping[str, Cells]
    pages: Mapping[str, ReportPages]
    """The pages that domains add, by domain."""


def write_report(
    folder: RunFolder,
    tasks: Sequence[Task],
    config: RunConfig,
    others: Others | None = None,
) -> RunReport:
    """Write `report.json`, `report.html` and the pages that domains add, and return the report.

    See `make_report` for the arguments and its errors. Also raises UserError if the folder cannot be written.
    """
    draft = make_report(folder, tasks, config, others)
    write_draft(folder, draft)
    return draft.report


def make_report(
    folder: RunFolder,
    tasks: Sequence[Task],
    config: RunConfig,
    others: Others | None = None,
) -> Draft:
    """Return the report, computed from the folder's `run.json` and `rollouts.jsonl`.

    `tasks`: the tasks of the run, including hidden parts. Raises DataError if a file of the run is malformed. Raises
    UserError if one of the runs in `others` has none of the tasks.
    """
    record, others = folder.record(), others or Others()
    others.require(tasks)
    measured = measure(tasks, config.trials, folder.latest(), config.shard)
    report = run_report(measured, config, others)
    pages = _pages(folder, record, config, measured)
    report = replace(
        report,
        warnings=tuple(warnings(report, config, record, measured.cells)),
        pages={each.name: next(iter(each.files)) for each in pages.values()},
    )
    return Draft(report=report, record=record, cells=measured.cells, pages=pages)


def write_draft(folder: RunFolder, draft: Draft) -> None:
    """Write a report and its pages, and delete pages of dialogues (`dialogues*.html`) that an earlier report wrote.

    Raises UserError if the folder cannot be written.
    """
    for name, content in (file for each in draft.pages.values() for file in each.files.items()):
        folder.write(name, content.encode())
    folder.write("report.json", as_json(draft.report))
    with folder.reader() as dialogues:
        written = {
            folder.write(name, page.encode())
            for name, page in render_pages(
                draft.report, draft.record, draft.cells, dialogues, draft.pages
            )
        }
    for stale in set(folder.path.glob("dialogues*.html")) - written:
        stale.unlink()


def as_json(report: RunReport) -> bytes:
    """Return the content of `report.json`."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def _pages(
    folder: RunFolder, record: RunRecord, config: RunConfig, measured: Measured
) -> dict[str, ReportPages]:
    """Return the pages that domains add to the report, by domain."""
    found: dict[str, ReportPages] = {}
    for name, cells in measured.cells.items():
        pages = get_domain(name).report_pages(
            folder.path,
            config,
            record.environments.get(name, ""),
            cells.tasks,
            [
                StoredRollouts(folder.rollouts_path, [each.place for each in row if each])
                for row in cells.grid
            ],
        )
        if pages:
            found[name] = pages
    return found
