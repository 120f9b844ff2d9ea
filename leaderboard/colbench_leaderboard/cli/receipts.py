"""How `colbench verify` shows what it does and what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from colbench.console import console, errors, printable

if TYPE_CHECKING:
    from rich.text import Text

    from colbench.stats import Estimate
    from colbench_leaderboard.archive import Refused
    from colbench_leaderboard.receipt import Finding, Receipt, Summary
    from colbench_leaderboard.verify.outcome import Outcome
    from colbench_leaderboard.verify.verification import Seen

TIERS = {
    "T0": "well-formed",
    "T1": "rescored",
    "T2": "rescored, and the simulated human asked again",
    "T3": "run again by the maintainers",
}
MEANS = "The scores follow from the transcripts; who wrote those, nobody can see from here."
STYLES = {"refusal": "red", "flag": "yellow", "note": "dim"}
INTERVAL = 10.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def progress() -> Iterator[Seen]:
    """Show how far verifying is: a bar for each stage in a terminal, elsewhere a line now and then."""
    with (_bars if errors().is_terminal else _lines)() as seen:
        yield seen


@contextmanager
def _bars() -> Iterator[Seen]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<8}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    stages: dict[str, Callable[[int, int], None]] = {}
    with Progress(*columns, console=errors(), transient=True) as bars:

        def stage(name: str, total: int) -> Callable[[int, int], None]:
            bar = bars.add_task(name, total=total)
            return lambda done, total: bars.update(bar, completed=done, total=total)

        def seen(name: str, done: int, total: int) -> None:
            if name not in stages:
                stages[name] = stage(name, total)
            stages[name](done, total)

        yield seen


@contextmanager
def _lines() -> Iterator[Seen]:
    last = time.monotonic()

    def seen(name: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            print(f"{name} {done}/{total}", file=errors().file, flush=True)

    yield seen


def as_json(outcome: Outcome) -> str:
    """Receipt and summary, for other programs."""
    content = {"receipt": outcome.receipt, "summary": outcome.summary}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def refusal_as_json(refused: Refused) -> str:
    """Why a bundle could not be read, for other programs."""
    content = {"receipt": None, "summary": None, "refusal": _fields(refused)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _fields(refused: Refused) -> dict[str, object]:
    return {name: getattr(refused, name) for name in ("rule", "file", "line", "message")}


def show_refusal(path: Path, refused: Refused) -> None:
    """Say why a bundle could not be read."""
    _verdict(f"{path}: refused, and not read any further", "red")
    _line(f"  {refused}")


def show(outcome: Outcome, out: Path) -> None:
    """Print the verdict, the numbers, and what was found."""
    receipt = outcome.receipt
    _verdict(*_words(receipt))
    if outcome.summary:
        for name, value in _numbers(outcome.summary, receipt):
            _line(f"  {name:<14}{value}")
        _line(f"  {MEANS}", "dim")
    _findings(receipt.findings)
    _line(f"bundle   {receipt.bundle}")
    _line(f"tasks    {receipt.tasks}")
    _line(f"receipt  {out}")


def _words(receipt: Receipt) -> tuple[str, str]:
    if receipt.tier is None:
        refusals = sum(each.severity == "refusal" for each in receipt.findings)
        return f"refused, for {refusals} reason{'s' if refusals != 1 else ''}", "red"
    flags = sum(each.severity == "flag" for each in receipt.findings)
    said = f", with {flags} flag{'s' if flags != 1 else ''}" if flags else ""
    return f"accepted{said}: {receipt.tier}, {TIERS[receipt.tier]}", "yellow" if flags else "green"


def _numbers(summary: Summary, receipt: Receipt) -> Iterator[tuple[str, str]]:
    percent = summary.domain == "backend"
    yield "tasks", f"{summary.tasks:,} x {summary.trials}"
    if summary.success:
        yield "success", _estimate(summary.success, percent=True)
    name = "tests passed" if summary.domain == "backend" else "cosine"
    yield name, _estimate(summary.value, percent=percent)
    yield "turns", _estimate(summary.turns)
    yield "agent words", _estimate(summary.agent_words)
    yield "human words", _estimate(summary.human_words)
    if summary.undisclosed is not None:
        yield (
            "untold",
            f"{100 * summary.undisclosed:.1f} % of what is hidden was used before it was told",
        )
    if receipt.replayed:
        yield "human", f"{receipt.replayed:,} replies, the same when asked again"


def _estimate(found: Estimate, *, percent: bool = False) -> str:
    if percent:
        return f"{100 * found.mean:.1f} %  ({100 * found.low:.1f} to {100 * found.high:.1f})"
    return f"{found.mean:.2f}  ({found.low:.2f} to {found.high:.2f})"


def _findings(findings: Sequence[Finding]) -> None:
    order = list(STYLES)
    for each in sorted(findings, key=lambda found: order.index(found.severity)):
        place = (
            f"{each.file}, line {each.line}: "
            if each.line
            else f"{each.file}: "
            if each.file
            else ""
        )
        _line(f"{each.severity:<8} {each.rule}", STYLES[each.severity])
        _line(f"         {place}{each.message}")


def _verdict(said: str, colour: str) -> None:
    _line(said, f"bold {colour}")


def _line(said: str, style: str = "") -> None:
    console().print(_plain(said), style=style, highlight=False, soft_wrap=True)


def _plain(said: str) -> Text:
    from rich.text import Text

    return Text(printable(said))
