"""A filtered list of dialogues, and the counts and filter values that its page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from colbench.viewer.filters import Filters
from colbench.viewer.index import Row, RunIndex

PER_PAGE = 100
Neighbors = tuple[Row | None, Row | None]
"""The dialogues before and after one dialogue of a list; None in place of a dialogue at the ends of the list."""


class Choices(Struct, frozen=True, kw_only=True):
    """Possible values of the filters."""

    domains: Sequence[str]
    families: Sequence[str]
    decisions: Sequence[str]
    labels: Sequence[str]
    notes: bool
    """True if a person left a note or a label on any dialogue."""


class Listing(Struct, frozen=True, kw_only=True):
    """The dialogues that pass the filters, from several runs and for all pages of the list."""

    runs: Sequence[RunIndex]
    filters: Filters
    rows: Sequence[Row]
    """Matching rows, in the requested order."""
    counts: Mapping[str, int]
    """Number of dialogues by outcome, regardless of the outcome filter."""
    everything: int
    """Number of all dialogues, without filters."""
    choices: Choices

    @property
    def pages(self) -> int:
        """The number of pages; one if no dialogue matches."""
        return max(1, -(-len(self.rows) // PER_PAGE))

    def page(self, number: int) -> Sequence[Row]:
        """Return the rows of page `number`, counted from 1."""
        return self.rows[(number - 1) * PER_PAGE : number * PER_PAGE]

    def neighbors(self, row: Row) -> Neighbors:
        """Return the dialogues before and after `row` in the list; (None, None) if `row` does not match the filters."""
        place = next((n for n, each in enumerate(self.rows) if each is row), None)
        if place is None:
            return None, None
        before = self.rows[place - 1] if place else None
        return before, self.rows[place + 1] if place + 1 < len(self.rows) else None


def make_listing(runs: Sequence[RunIndex], filters: Filters) -> Listing:
    """Return the list of the runs' dialogues that pass the filters, as of the last refresh."""
    rows = [row for run in runs for row in run.rows]
    return Listing(
        runs=runs,
        filters=filters,
        rows=filters.select(rows),
        counts=filters.count(rows),
        everything=len(rows),
        choices=Choices(
            domains=sorted({row.domain for row in rows}),
            families=sorted({row.family for row in rows if row.family}),
            decisions=sorted({name for untold in {row.untold for row in rows} for name in untold}),
            labels=sorted({label for run in runs for label in run.labels}),
            notes=any(run.has_notes for run in runs),
        ),
    )
