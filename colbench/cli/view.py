"""`colbench view`: read a dialogue of a run in the terminal, with its answer and its verdict."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from colbench.domain import Domain, Metric, get_domain
from colbench.errors import UserError
from colbench.rollout import Rollout, Turn
from colbench.run_folder import RunFolder
from colbench.score import Score

LONGEST = 20_000
"""Characters of any one text that are shown; the run folder has it whole."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("view", help="read a dialogue of a run", description=__doc__)
    parser.add_argument("folder", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "task", metavar="TASK", nargs="?", help="the task's id (default: the first)"
    )
    parser.add_argument("--trial", type=int, metavar="N", default=0, help="from 0 on")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print one dialogue."""
    folder = RunFolder(Path(args.folder))
    folder.record()
    show(choose(folder.rollouts(), args.task, args.trial, args.folder))
    return 0


def choose(rollouts: Sequence[Rollout], task: str | None, trial: int, folder: str) -> Rollout:
    """The rollout asked for. Raises UserError when it is not there."""
    found = [r for r in rollouts if r.trial == trial and task in (None, r.task_id)]
    if not found:
        what = f"of {task}, trial {trial}" if task else f"of trial {trial}"
        raise UserError(f"{folder} has no dialogue {what}")
    return found[0]


def show(rollout: Rollout) -> None:
    """Print a rollout: what was said, the answer, the verdicts."""
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
    """Print what somebody wrote as a program or a page."""
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
    """Print the score of an answer, and which tests it failed."""
    line(f"{mode}: {_worth(score, domain)}{'; ' if score.note else ''}{score.note}", "bold")
    for failed in score.failed_checks():
        line(f"  {failed}", "dim")


def _worth(score: Score, domain: Domain) -> str:
    if score.value is None and not score.metrics:
        return "not scored"
    if domain.success:
        return f"{100 * (score.value or 0):.0f} % {domain.primary.label}"
    return _measures(score, domain.metrics) if any(score.metrics.values()) else "0"


def _measures(score: Score, metrics: Iterable[Metric]) -> str:
    found = ((metric.name, metric.of(score)) for metric in metrics)
    return ", ".join(f"{name} {value:.3f}" for name, value in found if value is not None)


def line(text: str, style: str) -> None:
    """Print a text that may be anybody's."""
    from rich.text import Text

    from colbench.console import console, printable

    console().print(Text(printable(text), style=style))
