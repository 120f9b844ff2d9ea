"""Benchmark measurements: ratios and figures over rounds, the machine, the file of records, and changes of ratios."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "docs" / "benchmarks.json"

CHANGED = ("diff", "HEAD", "--stat", "--", ".", ":!docs/benchmarks.*")
"""Arguments with which git lists changed files, except the files that `make bench` writes."""

LEAST = 1.15
"""The smallest factor between two medians at which a ratio counts as moved."""

Better = Literal["lower", "higher"]
Variant = Literal["full", "quick"]


class Quantity(NamedTuple):
    """A measured number with its unit, empty for a count."""

    value: float
    unit: str


Round = dict[str, Quantity]
"""The quantities of one round, by name. In `SIDE: QUANTITY`, the part before the colon is a row of the page's table."""


class Ratio(NamedTuple):
    """The declaration of a ratio of two quantities of the same round and with the same unit."""

    name: str
    over: str
    under: str
    better: Better = "lower"
    wanted: float | None = None


class Goal(NamedTuple):
    """The declaration of a target for a quantity itself."""

    figure: str
    wanted: float
    better: Better = "lower"


class Measured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The median, lowest and highest value of a number over the rounds."""

    median: float
    low: float
    high: float
    rounds: int
    unit: str
    """The unit: empty for a count, `x` for a ratio."""
    better: Better | None = None
    wanted: float | None = None
    """The project's target."""

    def __post_init__(self) -> None:
        if not self.low <= self.median <= self.high or self.rounds < 1:
            raise ValueError("expected low <= median <= high, and at least one round")
        if self.wanted is not None and self.better is None:
            raise ValueError("a record with `wanted` needs `better`")

    @property
    def reached(self) -> bool:
        """Return True unless the median misses the target."""
        if self.wanted is None:
            return True
        return self.median >= self.wanted if self.better == "higher" else self.median <= self.wanted


class Machine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The machine and date of a measurement, without details that identify the machine."""

    processor: str
    cores: int
    memory_gb: int
    python: str
    kernel: str
    date: str
    commit: str
    """The commit, followed by `+` if files had been changed since."""


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measurements of one benchmark."""

    arguments: str
    """The command-line arguments; records with different arguments are not compared."""
    machine: Machine
    seconds: float
    others: float
    """Share of the machine's CPU time that other programs used during the measurement."""
    ratios: dict[str, Measured]
    figures: dict[str, Measured]


class Book(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All records of full benchmarks and of quick variants, by benchmark name."""

    full: dict[str, Record] = {}
    quick: dict[str, Record] = {}

    def of(self, variant: Variant) -> dict[str, Record]:
        """Return the records of a variant."""
        return self.quick if variant == "quick" else self.full


def read_book(path: Path = RECORDS) -> Book:
    """Return the records; an empty book if the file is missing. Raises ValidationError if the records are invalid."""
    return msgspec.json.decode(path.read_bytes(), type=Book) if path.exists() else Book()


def write_book(book: Book, path: Path = RECORDS) -> None:
    """Replace the file atomically, so that an interruption leaves either the old or the new file."""
    draft = path.with_suffix(".draft")
    ordered = Book(full=dict(sorted(book.full.items())), quick=dict(sorted(book.quick.items())))
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
    draft.replace(path)


def summarize(
    rounds: Sequence[Round], ratios: Iterable[Ratio], goals: Iterable[Goal], *, targets: bool = True
) -> tuple[dict[str, Measured], dict[str, Measured]]:
    """Return ratios and figures over all rounds; leave out a ratio if no round has both of its quantities.

    If `targets` is False, the targets of ratios and goals are left out. Raises ValueError if the two quantities of a
    ratio have different units.
    """
    units = {name: quantity.unit for each in rounds for name, quantity in each.items()}
    figures = {
        name: _measured([each[name].value for each in rounds if name in each], unit)
        for name, unit in units.items()
    }
    if targets:
        for goal in goals:
            if goal.figure in figures:
                aim = {"better": goal.better, "wanted": goal.wanted}
                figures[goal.figure] = replace(figures[goal.figure], **aim)
    found = {}
    for ratio in ratios:
        if values := _quotients(ratio, rounds):
            wanted = ratio.wanted if targets else None
            aim = {"better": ratio.better, "wanted": wanted}
            found[ratio.name] = replace(_measured(values, "x"), **aim)
    return found, figures


def _quotients(ratio: Ratio, rounds: Sequence[Round]) -> list[float]:
    pairs = [
        (each[ratio.over], each[ratio.under])
        for each in rounds
        if ratio.over in each and ratio.under in each
    ]
    if any(over.unit != under.unit for over, under in pairs):
        raise ValueError(f"{ratio.name}: {ratio.over} and {ratio.under} have different units")
    return [over.value / under.value for over, under in pairs]


def _measured(values: Sequence[float], unit: str) -> Measured:
    """Return the median, lowest and highest value, with four digits."""
    rounded = sorted(float(f"{value:.4g}") for value in values)
    return Measured(
        median=float(f"{statistics.median(rounded):.4g}"),
        low=rounded[0],
        high=rounded[-1],
        rounds=len(rounded),
        unit=unit,
    )


class Move(NamedTuple):
    """A ratio that has moved away from its recorded value."""

    name: str
    recorded: Measured
    found: Measured

    @property
    def worse(self) -> bool:
        """Return True if the ratio has become worse."""
        return (self.found.median > self.recorded.median) == (self.recorded.better == "lower")


def moved(recorded: Record, found: Record) -> list[Move]:
    """Return the ratios that have moved.

    A ratio has moved if two conditions hold: all its rounds lie on one side of all recorded rounds, and the medians
    differ by a factor of at least `LEAST`. Records with different arguments are not compared. With five rounds each,
    chance alone separates the rounds in one of 126 cases. On a machine that is busier than during the recording, ratios
    change by up to a tenth.
    """
    if recorded.arguments != found.arguments:
        return []
    pairs = (
        Move(name, recorded.ratios[name], each)
        for name, each in found.ratios.items()
        if name in recorded.ratios
    )
    return [each for each in pairs if _apart(each.recorded, each.found)]


def _apart(one: Measured, other: Measured) -> bool:
    lower, higher = sorted((one, other), key=lambda each: each.median)
    return lower.high < higher.low and lower.median * LEAST <= higher.median


def this_machine() -> Machine:
    """Return a description of this machine, with today's date and the commit of the working tree."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        python=platform.python_version(),
        kernel=platform.release().partition("-")[0],
        date=datetime.now(UTC).date().isoformat(),
        commit=_git("rev-parse", "--short=8", "HEAD") + "+" * bool(_git(*CHANGED)),
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip()
