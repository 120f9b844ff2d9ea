"""The display of `colbench tasks synthesize`: first the progress, then the numbers of accepted and rejected texts."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from colbench.config import Price
from colbench.console import console, errors, printable
from colbench.messages import Usage
from colbench.numbers import count, dollars, percent, short
from colbench.synthesis.records import REASONS, Ledger, Origin, Outcome

if TYPE_CHECKING:
    from colbench.synthesis.records import Line
    from colbench.synthesis.seeds import Seed

PLAIN_INTERVAL = 10.0
"""Seconds between two lines of progress when standard error is not a terminal."""
SHOWN_PENDING = 3


class Spent(Struct):
    """The tokens of one model, as its server counted them."""

    usage: Usage = Usage()
    uncounted: int = 0
    """Number of replies for which the server reported no count; the sums exclude them."""

    def add(self, usage: Usage | None) -> None:
        """Add the tokens of one reply."""
        self.usage += usage or Usage()
        self.uncounted += usage is None

    def cost(self, price: Price | None) -> float | None:
        """Return the cost in US dollars; None if the price is unknown."""
        if price is None:
            return None
        used = self.usage
        return (used.prompt_tokens * price[0] + used.completion_tokens * price[1]) / 1e6

    def text(self, price: Price | None) -> str:
        """Return the tokens and their cost, such as `12.3 k in, 4,500 out; $0.12`, or that no tokens were counted."""
        used = self.usage
        if self.uncounted and not used.requests:
            return "not counted; no model server reported usage"
        cost = self.cost(price)
        paid = "price unknown" if cost is None else dollars(cost)
        lacking = (
            f"; {count(self.uncounted, 'reply', 'replies')} not counted" if self.uncounted else ""
        )
        return (
            f"{short(used.prompt_tokens)} in, {short(used.completion_tokens)} out; {paid}{lacking}"
        )


class Yield:
    """Numbers of accepted and rejected seed texts, and the tokens spent on these texts, including earlier attempts."""

    def __init__(
        self,
        seeds: Sequence[Seed],
        lines: Iterable[Line],
        prices: tuple[Price | None, Price | None],
    ) -> None:
        keys = {seed.key for seed in seeds}
        self.texts = len(keys)
        self.prices = prices
        self.accepted = 0
        self.rejected: Counter[str] = Counter()
        self.writing, self.guessing = Spent(), Spent()
        for line in lines:
            if line.synthesis.key in keys:
                self.add(line.synthesis, line.reason)

    def add(self, origin: Origin, reason: str | None) -> None:
        """Count a text as accepted if `reason` is None, else as rejected for this reason.

        The tokens spent on the text are also counted.
        """
        self.accepted += reason is None
        self.rejected.update([reason] if reason else [])
        self.writing.add(origin.usage)
        for usage in origin.guesses:
            self.guessing.add(usage)

    @property
    def done(self) -> int:
        """Number of texts with an outcome."""
        return self.accepted + self.rejected.total()

    @property
    def pending(self) -> int:
        """Number of texts without an outcome."""
        return self.texts - self.done

    def spending(self) -> Iterator[tuple[str, str]]:
        """Yield a label for each model, and the tokens and cost of that model."""
        yield "tokens of the author model", self.writing.text(self.prices[0])
        if self.guessing.usage.requests or self.guessing.uncounted:
            yield "tokens of the guesser", self.guessing.text(self.prices[1])

    def text(self) -> str:
        """Return one line for the progress: the share of accepted texts, and the tokens of both models.

        If a price is known, the line also has the cost.
        """
        share = percent(self.accepted / self.done if self.done else None)
        both = (self.writing, self.guessing)
        tokens = sum(spent.usage.prompt_tokens + spent.usage.completion_tokens for spent in both)
        costs = [spent.cost(price) for spent, price in zip(both, self.prices, strict=True)]
        paid = f" · {dollars(sum(filter(None, costs)))}" if any(self.prices) else ""
        return f"{share} accepted · {short(tokens)} tokens{paid}"


def show(found: Yield, ledger: Ledger, pending: Sequence[str], *, as_json: bool) -> None:
    """Print why texts are pending, how many were accepted, how many were rejected for each reason, and the cost."""
    if as_json:
        sys.stdout.write(msgspec.json.encode(_summary(found, ledger)).decode() + "\n")
        return
    out = console()
    for reason in pending[:SHOWN_PENDING]:
        out.print(
            printable(f"not finished: {reason}"), highlight=False, markup=False, soft_wrap=True
        )
    texts = count(found.texts, "text")
    out.print(
        f"{ledger.out}: {count(found.accepted, 'task')} of {texts}", highlight=False, soft_wrap=True
    )
    width = max(map(len, REASONS.values()))
    for label, number in _rows(found):
        share = percent(number / found.texts)
        out.print(f"  {label:<{width}}{number:>7,}{share:>9}", highlight=False)
    for name, paid in found.spending():
        out.print(f"  {name}: {paid}", highlight=False)
    if found.rejected:
        out.print(
            f"  rejected texts with reasons: {ledger.rejected}", highlight=False, soft_wrap=True
        )


def _rows(found: Yield) -> Iterator[tuple[str, int]]:
    yield "accepted", found.accepted
    for reason, words in REASONS.items():
        if found.rejected[reason]:
            yield words, found.rejected[reason]
    if found.pending:
        yield "still pending; repeat the command to continue", found.pending


def _summary(found: Yield, ledger: Ledger) -> dict[str, Any]:
    return {
        "out": str(ledger.out),
        "texts": found.texts,
        "accepted": found.accepted,
        "rejected": dict(found.rejected),
        "pending": found.pending,
        "writing": found.writing,
        "guessing": found.guessing,
    }


@contextmanager
def progress(found: Yield) -> Iterator[Callable[[Outcome], None]]:
    """Show the progress of the synthesis, and yield a function to which the caller passes each outcome."""
    if found.done:
        errors().print(
            f"[dim]resumed: {found.done} of {count(found.texts, 'text')} already done[/dim]"
        )
    with (_live if errors().is_terminal else _plain)(found) as update:

        def seen(outcome: Outcome) -> None:
            found.add(outcome.synthesis, outcome.reason)
            update()

        yield seen


@contextmanager
def _live(found: Yield) -> Iterator[Callable[[], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.description}[/dim]"),
        console=errors(),
    )
    task = bar.add_task(found.text(), total=found.texts, completed=found.done)
    with bar:
        yield lambda: bar.update(task, completed=found.done, description=found.text())


@contextmanager
def _plain(found: Yield) -> Iterator[Callable[[], None]]:
    last = time.monotonic()

    def update() -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_INTERVAL:
            last = time.monotonic()
            print(f"{found.done}/{found.texts} · {found.text()}", file=errors().file, flush=True)

    yield update
