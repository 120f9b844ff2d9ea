"""`colbench sweep`: run several agents, humans or settings, one after another, and compare them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from colbench.cli.compare import show, write_page
from colbench.cli.evaluate import exit_code, not_judged, say, show_plan
from colbench.cli.stopping import Stop, stoppable
from colbench.cli.sweep.file import PAGE, SweepRun, read_sweep
from colbench.command import UNSCORED, describe
from colbench.config import settings
from colbench.console import add_output_flags, console, errors
from colbench.errors import ColBenchError, UserError
from colbench.evaluation import Evaluation
from colbench.failures import broken_agent, read_reasons
from colbench.numbers import count
from colbench.progress import ConsoleObserver, show_line
from colbench.run import Run, load_run

DONE = "done"


class State(Struct, frozen=True, kw_only=True):
    """The outcome of a run."""

    name: str
    run: Run | None
    """The run; None if it has no dialogue."""
    text: str
    """`done`, or the reason why the run is not done."""


def add_to(commands: Any) -> None:
    """Add the command `sweep` to the parser."""
    parser = commands.add_parser("sweep", description=describe(__doc__))
    parser.add_argument(
        "file",
        metavar="FILE",
        help="TOML file: [base] has the settings of all runs, as in `eval --config`, and a table [[run]] "
        "for each run has the settings that differ, and optionally a `name`",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder that gets one folder per run (default: runs/NAME-OF-FILE)",
    )
    parser.add_argument(
        "--retry-failed",
        metavar="REASON,…",
        default="",
        help="as in `colbench eval`, for every run",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the plan of the runs, and exit"
    )
    add_output_flags(parser, document="the comparison")
    parser.advise = _advise
    parser.set_defaults(run=run)


def _advise(flags: Sequence[str]) -> str:
    """Return advice to put the setting of the first flag into the file; "" if this flag belongs to no setting."""
    found = (each.name for each in settings().values() if each.flag == flags[0])
    name = next(found, "")
    return f"settings of the runs belong in [base] of FILE: {name} = …" if name else ""


def run(args: argparse.Namespace) -> int:
    """Run or resume every run of the file, then compare the runs that have dialogues. Return the exit code.

    With `--dry-run`, only print the plans of the runs.
    """
    file = Path(args.file)
    out = Path(args.out) if args.out else Path("runs") / file.stem
    _check(out)
    reasons = read_reasons(args.retry_failed, "--retry-failed")
    planned = [
        (each.name, _evaluation(each, out, reasons, file)) for each in read_sweep(file, os.environ)
    ]
    if args.dry_run:
        for _, evaluation in planned:
            show_plan(evaluation)
        return 0
    _create(out)
    states = []
    with stoppable() as stop:
        for number, (name, evaluation) in enumerate(planned, start=1):
            show_line(f"run {number} of {len(planned)}", f"  {name}")
            show_plan(evaluation)
            states.append(_run_one(name, evaluation, stop))
            if stop.code:
                say("interrupted; repeat the command to continue")
                return stop.code
    return _finish(states, out, as_json=args.json)


def _check(out: Path) -> None:
    """Raise UserError if `out` cannot be the folder of a sweep."""
    try:
        if (out / "run.json").exists():
            raise UserError(f"--out {out}: this is the folder of a run; choose another folder")
        if out.exists() and not out.is_dir():
            raise UserError(f"--out {out}: this is not a folder; choose a folder")
    except OSError as cause:
        raise UserError(f"--out {out}: cannot be read: {cause.strerror}") from cause


def _create(out: Path) -> None:
    """Create the folder of a sweep. Raises UserError if this fails, because then every run would fail as well."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise UserError(f"--out {out}: cannot be created: {cause.strerror}") from cause


def _evaluation(run: SweepRun, out: Path, reasons: tuple[str, ...], file: Path) -> Evaluation:
    """Return the evaluation of one run in a sweep file. Raises UserError, which names the run, if setup fails."""
    try:
        return Evaluation(run.config, out=out / run.name, retry_failed=reasons)
    except UserError as error:
        raise UserError(f"{file}, run {run.name}: {error}") from error


def _run_one(name: str, evaluation: Evaluation, stop: Stop) -> State:
    """Run or resume one run, write its report, and return its outcome. A failure does not stop the other runs."""
    trouble = ""
    try:
        stop.run(evaluation.run(ConsoleObserver()))
    except (ColBenchError, OSError) as error:
        trouble = f"stopped: {error}"
    if not evaluation.folder.has_rollouts:
        return State(name=name, run=None, text=trouble or "stopped before the first dialogue")
    run = load_run(evaluation.folder.path)
    report = run.write_report()
    if not trouble and (broken := broken_agent(run.rollouts)):
        trouble = broken
    if not trouble and exit_code(report):
        unscored = sum(domain.unscored for domain in report.domains.values())
        trouble = (
            f"{count(unscored, 'dialogue')} unscored; repeat the command to retry"
            if unscored
            else not_judged(report)
        )
    return State(name=name, run=run, text=trouble or DONE)


def _finish(states: list[State], out: Path, *, as_json: bool) -> int:
    """Print the outcomes of the runs, compare them, and return the exit code."""
    console().print()
    width = max(len(state.name) for state in states)
    for state in states:
        show_line(f"{state.name:<{width}}", f"  {state.text}")
    code = 0 if all(state.text == DONE for state in states) else UNSCORED
    runs = [state.run for state in states if state.run]
    if len(runs) < 2:
        say("fewer than two runs have dialogues; nothing to compare")
        return UNSCORED
    return max(code, _compare(runs, out, as_json=as_json))


def _compare(runs: list[Run], out: Path, *, as_json: bool) -> int:
    """Compare runs, even if they differ in more than the agent, and write the page. Return the exit code."""
    from colbench.comparison.compare import compare

    console().print()
    errors().print("comparing the runs …")
    try:
        found = compare(*runs, force=True, scoring=runs[0].config.scoring)
    except UserError as error:
        say(f"the runs cannot be compared: {error}")
        return UNSCORED
    show(found, as_json=as_json)
    write_page(found, runs, out / PAGE, overwrite=True)
    return 0
