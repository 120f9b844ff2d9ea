"""`colbench view`: view the dialogues of runs in a local web viewer, or print them in the terminal.

By default it serves the dialogues of all given runs as pages at 127.0.0.1 until interrupted, and shows new dialogues of
runs in progress; --export writes the same pages as files.

--list prints a line for each dialogue, and --failed a line for each failed dialogue. A line shows the task and trial,
why the dialogue failed, its turns and score, and the decisions that the human never revealed. --task prints one
dialogue with its answer, its scores, and the decisions that were revealed or not. --notes prints the notes and labels
that were left on dialogues in the viewer.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from colbench.asking.derive import completed
from colbench.asking.failure_class import FAILURE_CLASSES
from colbench.command import describe, printable
from colbench.config_errors import did_you_mean
from colbench.domain import Domain, Metric
from colbench.errors import UserError
from colbench.numbers import count
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.run import load_run
from colbench.run_folder import RunFolder
from colbench.score import Check, Score
from colbench.task import Task
from colbench.viewer.decisions import Decision, decisions_of

if TYPE_CHECKING:
    from colbench.viewer.index import Row

PORT = 8642
FORMATS = ("csv", "jsonl")
COLUMNS = ("task", "trial", "failed", "turns", "score", "never revealed")
"""Columns of the list of dialogues."""
LONGEST = 20_000
"""Maximum number of characters shown of one message or answer; the run folder has the whole text."""


def add_to(commands: Any) -> None:
    """Add the command `view` to the parser."""
    parser = commands.add_parser("view", description=describe(__doc__))
    parser.add_argument("folders", metavar="RUN", nargs="+", help="the folder of a run")
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"port of the web viewer; 0: any free port (default: {PORT})",
    )
    parser.add_argument(
        "--open", action="store_true", help="open the web viewer in this machine's browser"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--list", action="store_true", help="print a line for each dialogue")
    shown.add_argument(
        "--failed",
        nargs="?",
        const=True,
        choices=FAILURE_CLASSES,
        metavar="CLASS",
        help=f"print a line for each failed dialogue, optionally of one class only: "
        f"{', '.join(FAILURE_CLASSES)}",
    )
    shown.add_argument("--task", metavar="ID", help="print the dialogue about this task")
    shown.add_argument(
        "--notes",
        nargs="?",
        const="csv",
        choices=FORMATS,
        metavar="FORMAT",
        help="print the notes and labels as csv (the default) or JSON lines (jsonl)",
    )
    shown.add_argument("--export", metavar="DIR", help="write the web pages into a new folder")
    parser.add_argument(
        "--trial", type=int, metavar="N", help="trial of --task, counted from 0 (default: 0)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve runs as web pages, or print or export what the flags select."""
    _refuse_idle(args)
    if args.export is not None:
        return export_pages(args.folders, args.export)
    if args.notes is not None:
        return print_notes(args.folders, args.notes)
    if args.list or args.failed is not None:
        show_list(_only(args.folders), args.failed)
    elif args.task is not None:
        show_dialogue(_only(args.folders), args.task, args.trial or 0)
    else:
        return serve_pages(args.folders, PORT if args.port is None else args.port, args.open)
    return 0


def _refuse_idle(args: argparse.Namespace) -> None:
    """Raise UserError if a flag would have no effect together with the other flags."""
    if args.trial is not None and args.task is None:
        raise UserError("--trial: selects a trial of --task; set --task as well")
    printing = args.list or any(
        each is not None for each in (args.failed, args.task, args.notes, args.export)
    )
    if printing and (args.open or args.port is not None):
        flag = "--open" if args.open else "--port"
        raise UserError(
            f"{flag}: configures the web viewer, but --list, --failed, --task, --notes and --export "
            f"do not start it; leave {flag} out"
        )


def _only(folders: Sequence[str]) -> str:
    """Return the folder of the only run. Raises UserError if there are several runs."""
    if len(folders) > 1:
        raise UserError(
            f"{folders[1]}: the terminal shows one run at a time; use the web viewer for several"
        )
    return folders[0]


def serve_pages(folders: Sequence[str], port: int, opened: bool) -> int:
    """Serve runs as web pages until interrupted; if `opened` is True, also open this machine's browser."""
    from colbench.viewer.index import index_runs
    from colbench.viewer.server import serve

    def announce(address: str) -> None:
        line(f"{address} (Ctrl-C to stop)", "bold")
        if opened and not webbrowser.open(address):
            line("--open: no browser was found on this machine; open the URL yourself", "dim")

    serve(index_runs(folders), port, announce)
    return 0


def export_pages(folders: Sequence[str], target: str) -> int:
    """Write runs as web pages."""
    from colbench.viewer.index import index_runs
    from colbench.viewer.static import write_pages

    number = write_pages(index_runs(folders), Path(target))
    line(f"{Path(target) / 'index.html'}: {count(number, 'dialogue')}", "bold")
    return 0


def print_notes(folders: Sequence[str], form: str) -> int:
    """Print the notes of runs as CSV or as JSON lines."""
    from colbench.viewer.notes import format_notes, read_notes

    notes = [(folder, note) for folder in folders for note in read_notes(load_run(folder).path)]
    sys.stdout.write(format_notes(notes, form))
    return 0


def show_list(folder: str, wanted: str | Literal[True] | None) -> None:
    """Print a line for each dialogue that `wanted` selects.

    `wanted`: None for all dialogues, True for the failed dialogues, or a failure class for the dialogues of this class.
    """
    from colbench.console import console
    from colbench.viewer.index import RunIndex

    index = RunIndex(folder, folder)
    rows = [
        row
        for row in index.rows
        if wanted is None or (row.failed and wanted in (True, row.outcome))
    ]
    rows.sort(key=index.planned_place)
    lines = _aligned(rows) if rows else iter(["no dialogue"])
    console().print(next(lines), style="bold", markup=False, highlight=False, soft_wrap=True)
    console().file.writelines(f"{each}\n" for each in lines)


def _aligned(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line of column names, then a line for each row, padded to equal column widths."""
    from rich.cells import cell_len

    widths = [len(name) for name in COLUMNS]
    for row in rows:
        widths = list(map(max, widths, map(cell_len, _cells(row))))
    for cells in chain([COLUMNS], map(_cells, rows)):
        padded = (
            cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    score = "–" if row.score is None else f"{100 * row.score:.0f}%"
    cells = (
        row.task_id,
        str(row.trial),
        row.outcome.replace("_", " ") if row.failed else "",
        str(row.turns),
        "unscored" if row.outcome == "unscored" else score,
        ", ".join(row.untold),
    )
    return tuple(map(printable, cells))


def show_dialogue(folder: str, task_id: str, trial: int) -> None:
    """Print the dialogue about a task in a trial."""
    run = load_run(folder)
    rollout = choose(run.folder, task_id, trial)
    task = next((task for task in run.known_tasks() if task.hash == rollout.task_hash), None)
    show(completed(task, rollout), task)


def choose(folder: RunFolder, task: str, trial: int) -> Rollout:
    """Return the rollout of a task and a trial. Raises UserError if the folder has no such rollout."""
    trials, others = set(), set()
    for _, rollout in folder.latest():
        if rollout.task_id != task:
            others.add(rollout.task_id)
        elif rollout.trial == trial:
            return rollout
        else:
            trials.add(rollout.trial)
    known = ", ".join(map(str, sorted(trials)))
    hint = (
        f"; choose one of its trials: {known}"
        if trials
        else did_you_mean(task, others, then="--list prints all dialogues")
    )
    raise UserError(f"{folder.path} has no dialogue of {task}, trial {trial}{hint}")


def show(rollout: Rollout, task: Task | None) -> None:
    """Print a rollout's messages, answer and scores; if the task is known, also the decisions never revealed."""
    line(f"{rollout.task_id}, trial {rollout.trial}\n", "bold")
    say("human", rollout.request)
    told: set[str] = set()
    for turn in _turns(rollout):
        _turn(turn, get_domain(rollout.domain), told)
        told.update(turn.told or ())
    if rollout.answer is not None:
        code("agent, answer", rollout.answer, get_domain(rollout.domain).language)
    if rollout.failure:
        line(f"failed: {rollout.failure.boundary}: {rollout.failure.reason}", "red")
    _verdicts(rollout)
    if task is not None:
        _never_revealed(decisions_of(task, rollout))


def _turns(rollout: Rollout) -> Iterator[Turn]:
    """Yield the turns. If the message of the last turn is the answer, as at the turn limit, leave this message out."""
    yield from rollout.turns[:-1]
    for last in rollout.turns[-1:]:
        yield replace(last, said="") if last.said == rollout.answer else last


def _verdicts(rollout: Rollout) -> None:
    """Print the scores, in one block for all modes with the same result."""
    domain = get_domain(rollout.domain)
    alike: dict[tuple[str, ...], list[str]] = {}
    for mode, score in rollout.scores.items():
        alike.setdefault(tuple(_result(score, domain)), []).append(mode)
    for modes in alike.values():
        verdict(" and ".join(modes) + " scoring", rollout.scores[modes[0]], domain)
    if not rollout.scores:
        line("not scored", "bold")


def _never_revealed(decisions: Iterable[Decision]) -> None:
    """Print the decisions that no reply revealed."""
    states = {"untold": "", "guessed": " (guessed right)"}
    hidden = [each for each in decisions if each.state in states]
    if hidden:
        line("never revealed", "bold")
    for each in hidden:
        line(f"  {each.name}: {each.statement}{states[each.state]}", "dim")


def _turn(turn: Turn, domain: Domain, before: Collection[str]) -> None:
    """Print a turn; `before`: the decisions that earlier turns revealed."""
    if turn.said:
        say("agent", turn.said)
    leading = [metric for metric in domain.metrics if metric.role != "detail"]
    if turn.score is not None and (shown := _measures(turn.score, leading)):
        line(f"{domain.noun}: {shown}\n", "dim")
    if turn.human is not None:
        say("human", turn.human)
    if turn.told is not None:
        line(f"{_revealed(turn.told, before)}\n", "dim")


def _revealed(told: Sequence[str], before: Collection[str]) -> str:
    parts = {
        "revealed": [name for name in told if name not in before],
        "revealed again": [name for name in told if name in before],
    }
    shown = [f"{what}: {', '.join(names)}" for what, names in parts.items() if names]
    return "; ".join(shown) or "revealed: nothing"


def say(who: str, text: str) -> None:
    """Print a message."""
    from rich.padding import Padding
    from rich.text import Text

    from colbench.console import console

    line(who, "green" if who.startswith("agent") else "cyan")
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n…"
    console().print(Padding(Text(printable(shown)), (0, 0, 1, 2)))


def code(who: str, text: str, language: str) -> None:
    """Print a program or a page, highlighted."""
    from rich.padding import Padding
    from rich.syntax import Syntax

    from colbench.console import console

    line(who, "green" if who.startswith("agent") else "cyan")
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n…"
    lines = Syntax(
        printable(shown) or "(empty)", language, background_color="default", word_wrap=True
    )
    console().print(Padding(lines, (0, 0, 1, 2)))


def verdict(title: str, score: Score, domain: Domain) -> None:
    """Print the score of an answer, and the tests that the answer failed."""
    worth, *failed = _result(score, domain)
    line(f"{title}: {worth}", "bold")
    for each in failed:
        line(f"  {each}", "dim")


def _result(score: Score, domain: Domain) -> Iterator[str]:
    """Yield a line with the score and its note, then lines of failed tests; tests with the same error share a line."""
    yield f"{_worth(score, domain)}{'; ' if score.note else ''}{score.note}"
    alike: dict[tuple[str, str, str], list[Check]] = {}
    for check in score.checks:
        own = check.call if check.outcome == "wrong" else ""
        alike.setdefault((check.outcome, check.actual, own), []).append(check)
    for first, *more in alike.values():
        if first.outcome != "passed":
            yield f"{first.line}{f' (and {len(more)} more)' if more else ''}"


def _worth(score: Score, domain: Domain) -> str:
    """Return a score in words: the primary metric, or all metrics in a domain without a success metric (frontend).

    Return "not scored" for a missing score.
    """
    if score.value is None and (domain.success or not score.metrics):
        return "not scored"
    if domain.success:
        return f"{domain.primary.label} {100 * (score.value or 0):.0f}%"
    return _measures(score, domain.metrics) if any(score.metrics.values()) else "0"


def _measures(score: Score, metrics: Iterable[Metric]) -> str:
    found = ((metric.name, metric.of(score)) for metric in metrics)
    return ", ".join(f"{name} {value:.3f}" for name, value in found if value is not None)


def line(text: str, style: str) -> None:
    """Print a line of untrusted text."""
    from rich.text import Text

    from colbench.console import console

    console().print(Text(printable(text), style=style))
