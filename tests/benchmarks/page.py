"""docs/benchmarks.md, built from the records (docs/benchmarks.json) and the template (docs/benchmarks.md.jinja)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import jinja2
from records import ROOT, Book, Measured, Record, read_book
from tables import target, with_spread, with_unit

PAGE = ROOT / "docs" / "benchmarks.md"
QUIET, BUSY = 0.2, " (wall times are unreliable)"
"""The CPU share of other programs above which wall times are unreliable, and the remark about it on the page."""
TEMPLATE = ROOT / "docs" / "benchmarks.md.jinja"


def write_page() -> None:
    """Build the page and write it."""
    PAGE.write_text(build(read_book(), TEMPLATE.read_text("utf-8")), encoding="utf-8")


def build(book: Book, template: str) -> str:
    """Return the page. Raises LookupError if the template names a number that is not recorded."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    functions = Functions(book)
    return environment.from_string(template).render(
        results=functions.results,
        ratio=functions.ratio,
        figure=functions.figure,
        targets=functions.targets,
    )


class Functions:
    """The functions that the template can call."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def results(self, name: str) -> str:
        """Return the tables of a benchmark's record, or a note that it has no record."""
        record = self.book.full.get(name)
        return "No record yet." if record is None else "\n".join(_blocks(record))

    def ratio(self, name: str, ratio: str) -> str:
        """Return a ratio with its spread."""
        return with_spread(self._recorded(name, "ratios", ratio))

    def figure(self, name: str, figure: str) -> str:
        """Return the median of a figure with its unit."""
        return with_unit(self._recorded(name, "figures", figure))

    def _recorded(self, name: str, kind: str, label: str) -> Measured:
        try:
            found: Measured = getattr(self.book.full[name], kind)[label]
        except KeyError as error:
            raise LookupError(f"{TEMPLATE.name}: not recorded: {name}, {label}") from error
        return found

    def targets(self) -> str:
        """Return a table of all ratios and figures that have a target."""
        rows = [
            f"| {name} | {label} | {with_spread(each)} | {target(each)} |"
            for name, record in sorted(self.book.full.items())
            for label, each in (record.ratios | record.figures).items()
            if each.wanted is not None
        ]
        head = ["| benchmark | measure | measured | target |", "|---|---|---|---|"]
        return "\n".join([*head, *rows])


def _blocks(record: Record) -> Iterator[str]:
    yield f"*{_circumstances(record)}*"
    if record.ratios:
        yield "\n| ratio | median (lowest to highest) | better |\n|---|---|---|"
        for label, each in record.ratios.items():
            yield f"| {label} | {with_spread(each)} | {each.better} |"
    if record.figures:
        yield ""
        yield from _matrix(record.figures)


def _circumstances(record: Record) -> str:
    machine = record.machine
    rounds = max(each.rounds for each in (record.ratios | record.figures).values())
    day = date.fromisoformat(machine.date)
    when = f"{day:%B} {day.day}, {day.year}"
    return (
        f"{when}, commit {machine.commit}, {rounds} round{'s' * (rounds > 1)}; {machine.cores} cores of "
        f"{machine.processor}, {machine.memory_gb} GB, Python {machine.python}, Linux {machine.kernel}; other "
        f"programs used {100 * record.others:.0f}% of the CPU{BUSY * (record.others > QUIET)}."
    )


def _matrix(figures: dict[str, Measured]) -> Iterator[str]:
    """Yield a table of figures named `SIDE: QUANTITY`, with a row for each side and a column for each quantity."""
    cells = {_place(label): with_unit(each) for label, each in figures.items()}
    sides, quantities = ({place[part]: None for place in cells} for part in (0, 1))
    yield f"| | {' | '.join(quantities)} |"
    yield f"|---|{'--:|' * len(quantities)}"
    for side in sides:
        row = (cells.get((side, quantity), "") for quantity in quantities)
        yield f"| {side} | {' | '.join(row)} |"


def _place(label: str) -> tuple[str, str]:
    side, _, quantity = label.partition(": ")
    return side, quantity
