"""Terminal output for a person who plays, in the style of `colbench view`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from colbench.cli.view import code, line, say, verdict
from colbench.console import console, printable
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Task

if TYPE_CHECKING:
    from rich.status import Status


def note(text: str) -> None:
    """Print a remark that is not part of the dialogue."""
    line(text, "dim")


def rule(text: str) -> None:
    """Print a line across the screen with a heading."""
    from rich.rule import Rule
    from rich.text import Text

    console().print(Rule(Text(printable(text), style="bold"), align="left", style="dim"))


def commands(rows: Sequence[tuple[str, str]]) -> None:
    """Print the commands with descriptions."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for command, text in rows:
        table.add_row(command, text)
    console().print(table, style="dim")


def show_picture(what: str, file: Path) -> None:
    """Print the path of a picture without wrapping, so that it can be copied or clicked on."""
    from rich.text import Text

    console().print(Text(f"{what}: {file}\n", style="dim"), soft_wrap=True)


def your_turn(turn: int, most: int, domain: str) -> None:
    """Print a heading for the person's turn as the agent: the number of the turn, and how many turns follow."""
    own = get_domain(domain)
    answer = f"the last {own.noun} you can show" if own.pictured else "what you write now"
    after = f"{most - turn} more after it" if turn < most else f"the last: {answer} is your answer"
    rule(f"your turn, {turn} of {most}; {after}")


def hidden(task: Task, *, reference: bool = True) -> None:
    """Print the hidden decisions and, if `reference` is True, the reference.

    If the task has no hidden decisions, print the hidden information instead, unless it equals the reference.
    """
    facts = [fact.statement for fact in task.hidden.facts if not fact.stated]
    if facts:
        say("hidden from the agent", "\n".join(facts))
    elif task.hidden.information != task.hidden.reference:
        say("hidden from the agent", task.hidden.information)
    if reference:
        code(
            "hidden from the agent: the reference",
            task.hidden.reference,
            get_domain(task.domain).language,
        )


def end(rollout: Rollout, mode: str, *, answer: bool) -> None:
    """Print the end of a dialogue, with the score in the scoring mode `mode`.

    If `answer` is True, also print the answer, unless the human saw it as a picture.
    """
    rule("the end")
    domain = get_domain(rollout.domain)
    if answer and not domain.pictured and rollout.answer is not None:
        code("agent, answer", rollout.answer, domain.language)
    if rollout.failure:
        line(f"failed: {rollout.failure.boundary}: {rollout.failure.reason}", "red")
    if mode in rollout.scores:
        verdict(mode, rollout.scores[mode], domain)
    elif not rollout.failure:
        line("not scored", "bold")
    line("", "")


class Waiting:
    """A sign that the person must wait for the other participant or the scorer; it is shown only in a terminal."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def start(self, text: str) -> None:
        """Show the sign with this text, if the output is a terminal."""
        if console().is_terminal:
            self._status = console().status(text)
            self._status.start()

    def stop(self) -> None:
        """Remove the sign."""
        if self._status:
            self._status.stop()
        self._status = None
