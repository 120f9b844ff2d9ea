"""`colbench report`: rebuild the report of a run from its files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colbench.config import RunConfig
from colbench.flags import add_config_flags, read_config
from colbench.report.baseline import load_baseline
from colbench.run_folder import RunFolder
from colbench.selection import recorded_tasks
from colbench.task import Task

if TYPE_CHECKING:
    from colbench.report.baseline import Baseline
    from colbench.report.model import RunReport


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("report", help="show the report of a run", description=__doc__)
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "--json", action="store_true", help="print report.json instead of the table"
    )
    add_config_flags(parser, only=("scoring", "baseline"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write report.json and report.html again, and show the one asked for."""
    folder = RunFolder(Path(args.folder))
    record = folder.record()
    config = read_config(args, base=record.config)
    tasks = recorded_tasks(folder, record)
    baseline = load_baseline(config, tasks)
    write_and_show(folder, tasks, config, baseline, as_json=args.json)
    return 0


def write_and_show(
    folder: RunFolder,
    tasks: list[Task],
    config: RunConfig,
    baseline: Baseline | None = None,
    *,
    as_json: bool = False,
) -> RunReport:
    """Write report.json and report.html; print the table, or the JSON. Returns the report."""
    from colbench.console import console
    from colbench.report.console import render_table
    from colbench.report.write import write_report

    report = write_report(folder, tasks, config, baseline)
    if as_json:
        sys.stdout.write((folder.path / "report.json").read_text("utf-8"))
    else:
        console().print(render_table(report))
        for warning in report.warnings:
            console().print(f"Take care: {warning}", highlight=False, markup=False, soft_wrap=True)
        console().print(f"Report: {folder.path / 'report.html'}", highlight=False, soft_wrap=True)
        for name, file in report.pages.items():
            shown = f"{name.capitalize()}: {folder.path / file}"
            console().print(shown, highlight=False, soft_wrap=True)
    return report
