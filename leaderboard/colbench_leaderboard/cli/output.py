"""Output of the leaderboard's commands: progress, verdicts and plain lines, safe to print in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from colbench import numbers
from colbench.console import console, errors, printable
from colbench.registry import get_domain

if TYPE_CHECKING:
    from colbench.stats import Estimate
    from colbench_leaderboard.bundle.refused import Refused
    from colbench_leaderboard.store.layout import Record
    from colbench_leaderboard.verify.receipt import Finding, Outcome, Receipt, Summary
    from colbench_leaderboard.verify.verification import Seen

LEVELS = {
    "V1": "rescored",
    "V2": "rescored, simulated human replayed",
    "V3": "rerun by the maintainers",
}
"""Meaning of each verification level."""
MEANS = (
    "The scores follow from the transcripts; verification cannot show who wrote the transcripts."
)
STYLES = {"refusal": "red", "flag": "yellow", "note": "dim"}
SHOWN = 3
"""Maximum number of findings that are shown for one rule. The receipt has up to `findings.MOST` findings of a rule."""
INTERVAL = 10.0
"""Minimum number of seconds between two lines of progress if the output is not a terminal."""


def say(line: str, style: str = "") -> None:
    """Print a line."""
    console().print(printable(line), style=style, highlight=False, markup=False, soft_wrap=True)


def say_field(name: str, value: str) -> None:
    """Print a value after its dimmed name."""
    console().print(f"[dim]{name:<9}[/dim]", end="", highlight=False)
    console().print(printable(value), highlight=False, markup=False, soft_wrap=True)


def say_decision(record: Record, head: str) -> None:
    """Print a decision and the log's new head."""
    say(f"record {record.number}: {record.decision} {record.bundle}")
    say(f"head     {head}", "dim")


def say_objections(receipt: Receipt) -> None:
    """Print the refusals and flags of a receipt, and its verification level; notes are not printed."""
    for (severity, rule), found in _by_rule(receipt.findings).items():
        if severity != "note":
            for line in _shortened(found):
                say(f"{severity:<8} {rule}: {line}", STYLES[severity])
    say(f"level    {receipt.level}" if receipt.level else "refused")


def say_pending(store: str, receipt: Receipt) -> None:
    """Print how to decide about an entry's flags if the entry is not ranked because of them."""
    from colbench_leaderboard.verify.findings import awaits_decision

    if any(map(awaits_decision, receipt.findings)):
        keep = f"colbench leaderboard keep {store} {receipt.bundle[:12]} --reason …"
        say(
            f"The entry is not ranked until you decide about its flags. To rank it, run `{keep}`; to remove it, "
            "run the same command with `remove` instead of `keep`.",
            "yellow",
        )


def say_refusal(path: Path, refused: Refused) -> None:
    """Print why a bundle could not be read."""
    say(f"{path}: refused; reading stopped at the first error", "bold red")
    say(f"  {refused}")


def say_outcome(outcome: Outcome, out: Path) -> None:
    """Print the verdict, the numbers and the findings."""
    receipt = outcome.receipt
    verdict, color = _verdict(receipt)
    say(verdict, f"bold {color}")
    if outcome.summary:
        for line in aligned(dict(_numbers(outcome.summary, receipt))):
            say(f"  {line}")
        say(f"  {MEANS}", "dim")
    for (severity, rule), found in _by_rule(receipt.findings).items():
        say(f"{severity:<8} {rule}", STYLES[severity])
        for line in _shortened(found):
            say(f"         {line}")
    say(f"bundle   {receipt.bundle}")
    say(f"tasks    {receipt.tasks}")
    if receipt.domain_package:
        say(f"domain   {receipt.domain_package}")
    say(f"receipt  {out}")


def aligned(fields: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each field, with its name and its value; all values start in the same column."""
    width = max(map(len, fields))
    for name, value in fields.items():
        yield f"{name:<{width}}  {value}"


def as_json(outcome: Outcome) -> str:
    """Return receipt and summary as JSON."""
    return to_json({"receipt": outcome.receipt, "summary": outcome.summary})


def refusal_as_json(refused: Refused) -> str:
    """Return, as JSON, the reason why a bundle could not be read."""
    fields = {name: getattr(refused, name) for name in ("rule", "file", "line", "message")}
    return to_json({"receipt": None, "summary": None, "refusal": fields})


def to_json(content: object) -> str:
    """Return a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _by_rule(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Return the findings, grouped by severity and rule: the most severe groups first, otherwise in the given order."""
    order = list(STYLES)
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for found in sorted(findings, key=lambda each: order.index(each.severity)):
        grouped.setdefault((found.severity, found.rule), []).append(found)
    return grouped


def _shortened(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each of a rule's first findings, then a line with the number of remaining findings."""
    yield from map(_located, findings[:SHOWN])
    if len(findings) > SHOWN:
        yield f"and {len(findings) - SHOWN:,} more in the receipt"


def _located(found: Finding) -> str:
    """Return the message of a finding, preceded by its location."""
    line = f", line {found.line}" if found.line else ""
    return f"{found.file}{line}: {found.message}" if found.file else found.message


def _verdict(receipt: Receipt) -> tuple[str, str]:
    if receipt.level is None:
        refusals = sum(each.severity == "refusal" for each in receipt.findings)
        return f"refused, for {numbers.count(refusals, 'reason')}", "red"
    flags = sum(each.severity == "flag" for each in receipt.findings)
    flagged = f", with {numbers.count(flags, 'flag')}" if flags else ""
    verdict = f"accepted{flagged}: {LEVELS[receipt.level]} (verification level {receipt.level} of V1 to V3)"
    return verdict, "yellow" if flags else "green"


def _numbers(summary: Summary, receipt: Receipt) -> Iterator[tuple[str, str]]:
    domain = get_domain(summary.domain)
    yield "tasks", f"{summary.tasks:,} x {summary.trials}"
    if summary.success:
        yield "success", _estimate(summary.success, percent=True)
    yield domain.primary.label, _estimate(summary.value, percent=domain.primary.bounds == (0, 1))
    yield "turns", _estimate(summary.turns)
    yield "agent words", _estimate(summary.agent_words)
    yield "human words", _estimate(summary.human_words)
    if summary.undisclosed is not None:
        yield (
            "undisclosed",
            f"{numbers.percent(summary.undisclosed)} of the hidden facts were used although the "
            "human never revealed them",
        )
    if receipt.replayed:
        yield "human", f"{receipt.replayed:,} replies, identical when replayed"


def _estimate(found: Estimate, *, percent: bool = False) -> str:
    """Return `42.3%  (39.1 to 45.4)`, `4.70  (4.51 to 4.92)` or, if all tasks share a value, `3.00  (no interval)`."""
    show = numbers.bare_percent if percent else "{:.2f}".format
    unit = "%" if percent else ""
    ends = f"{show(found.low)} to {show(found.high)}"
    return f"{show(found.mean)}{unit}  ({numbers.NO_INTERVAL if found.low == found.high else ends})"


@contextmanager
def progress() -> Iterator[Seen]:
    """Yield a function that shows a verification's progress: as bars in a terminal, or else as occasional lines."""
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
