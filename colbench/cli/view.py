"""`colbench view`: show a dialogue of a run in the terminal, with its answer and its scores, or list dialogues.

--list prints a line for each dialogue, --failed one for each that failed: its task and trial, why it failed, its turns
and score, and the decisions that were never told.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from colbench.asking.failure_class import FAILURE_CLASSES, failure_class
from colbench.command import describe
from colbench.domain import Domain, Metric
from colbench.errors import UserError
from colbench.registry import get_domain
from colbench.rollout import Rollout, Turn
from colbench.run import Run, load_run
from colbench.score import Score
from colbench.task import Task

LONGEST = 20_000
"""Most characters shown of one text; the run folder has all of it."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "view", help="show or list the dialogues of a run", description=describe(__doc__)
    )
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "task", metavar="TASK", nargs="?", help="the task's id (default: the first one of the run)"
    )
    parser.add_argument(
        "--trial", type=int, metavar="N", default=0, help="the trial, counted from 0 (default: 0)"
    )
    listed = parser.add_mutually_exclusive_group()
    listed.add_argument("--list", action="store_true", help="print a line for each dialogue")
    listed.add_argument(
        "--failed",
        nargs="?",
        const="",
        choices=("", *FAILURE_CLASSES),
        metavar="CLASS",
        help=f"print a line for each failed dialogue, or for those of a class: {', '.join(FAILURE_CLASSES)}",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one dialogue, or a line for each."""
    found = load_run(args.folder)
    if args.list or args.failed is not None:
        if args.task:
            raise UserError(
                f"{args.task}: a list is of the whole run; leave out the task, or the flag"
            )
        show_list(found, args.failed)
        return 0
    rollouts = found.folder.rollouts() if args.task else found.rollouts
    show(choose(rollouts, args.task, args.trial, args.folder))
    return 0


def show_list(run: Run, wanted: str | None) -> None:
    """Print a line for each dialogue, for each failed one (`wanted` is empty), or for those that failed in one way."""
    from rich.table import Table
    from rich.text import Text

    from colbench.console import console, printable

    decisions = {task.id: decisions_of(task) for task in run.known_tasks()}
    table = Table(
        "task", "trial", "failed", "turns", "score", "never told", box=None, pad_edge=False
    )
    for rollout in run.rollouts:
        found = failure_class(rollout)
        if wanted is None or (found and wanted in ("", found)):
            untold = open_decisions(rollout, decisions.get(rollout.task_id, ()))
            cells = (
                rollout.task_id,
                str(rollout.trial),
                (found or "").replace("_", " "),
                str(len(rollout.turns)),
                _brief_score(rollout),
                ", ".join(untold),
            )
            table.add_row(*(Text(printable(cell)) for cell in cells))
    console().print(table if table.row_count else "no dialogue", highlight=False)


def decisions_of(task: Task) -> Sequence[str]:
    """Return the names of a task's hidden decisions; none where they were only estimated."""
    return [fact.name for fact in task.hidden.facts if not fact.stated]


def open_decisions(rollout: Rollout, decisions: Sequence[str]) -> list[str]:
    """Return those of the decisions that no reply told; none where that is not known."""
    if rollout.asking is None:
        return []
    told = {name for turn in rollout.turns for name in turn.told or ()}
    return [name for name in decisions if name not in told]


def _brief_score(rollout: Rollout) -> str:
    score = rollout.scores.get("default")
    if score is None:
        return "unscored"
    return "–" if score.value is None else f"{100 * score.value:.0f} %"


def choose(rollouts: Sequence[Rollout], task: str | None, trial: int, folder: str) -> Rollout:
    """Return the rollout of a task and a trial. Raises UserError if it does not exist."""
    found = [r for r in rollouts if r.trial == trial and task in (None, r.task_id)]
    if not found:
        what = f"of {task}, trial {trial}" if task else f"of trial {trial}"
        raise UserError(f"{folder} has no dialogue {what}")
    return found[0]


def show(rollout: Rollout) -> None:
    """Print a rollout: its messages, answer and scores."""
    line(f"{rollout.task_id}, trial {rollout.trial}\n", "bold")
    say("human", rollout.request)
    for turn in rollout.turns:
        _turn(turn, get_domain(rollout.domain))
    if rollout.answer is not None:
        code("agent, answer", rollout.answer, get_domain(rollout.domain).language)
    if rollout.failure:
        line(f"failed: {rollout.failure.boundary}: {rollout.failure.reason}", "red")
    for mode, score in rollout.scores.items():
        verdict(mode, score, get_domain(rollout.domain))
    if not rollout.scores:
        line("not scored", "bold")


def _turn(turn: Turn, domain: Domain) -> None:
    if turn.said:
        say("agent", turn.said)
    leading = [metric for metric in domain.metrics if metric.role != "detail"]
    if turn.score is not None and (shown := _measures(turn.score, leading)):
        line(f"{domain.noun}: {shown}\n", "dim")
    if turn.human is not None:
        say("human", turn.human)


def say(who: str, text: str) -> None:
    """Print a message."""
    from rich.padding import Padding
    from rich.text import Text

    from colbench.console import console, printable

    line(who, "green" if who.startswith("agent") else "cyan")
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n…"
    console().print(Padding(Text(printable(shown)), (0, 0, 1, 2)))


def code(who: str, text: str, language: str) -> None:
    """Print a program or a page, highlighted."""
    from rich.padding import Padding
    from rich.syntax import Syntax

    from colbench.console import console, printable

    line(who, "green" if who.startswith("agent") else "cyan")
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n…"
    lines = Syntax(
        printable(shown) or "(empty)", language, background_color="default", word_wrap=True
    )
    console().print(Padding(lines, (0, 0, 1, 2)))


def verdict(mode: str, score: Score, domain: Domain) -> None:
    """Print the score of an answer, and the tests that it failed."""
    line(f"{mode}: {_worth(score, domain)}{'; ' if score.note else ''}{score.note}", "bold")
    for failed in score.failed_checks():
        line(f"  {failed}", "dim")


def _worth(score: Score, domain: Domain) -> str:
    """Return a score for people; pages, which do not just succeed or fail, are described by all their metrics."""
    if score.value is None and (domain.success or not score.metrics):
        return "not scored"
    if domain.success:
        return f"{domain.primary.label} {100 * (score.value or 0):.0f} %"
    return _measures(score, domain.metrics) if any(score.metrics.values()) else "0"


def _measures(score: Score, metrics: Iterable[Metric]) -> str:
    found = ((metric.name, metric.of(score)) for metric in metrics)
    return ", ".join(f"{name} {value:.3f}" for name, value in found if value is not None)


def line(text: str, style: str) -> None:
    """Print a line of untrusted text."""
    from rich.text import Text

    from colbench.console import console, printable

    console().print(Text(printable(text), style=style))
