"""The selection and the order of the dialogues in a list, which the query of the list's URL determines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import UserError
from colbench.viewer.index import OUTCOMES, Row

FAILED = "failed"
"""Value of the outcome filter that matches every class of failure."""
DIGITS = 9
"""Number of decimals to which scores in percent are rounded before they are compared with a bound."""
NOTED = "*"
"""Value of the label filter that matches dialogues with any label or note."""
BY_TASK = "task"
"""The default order."""
ORDERS: dict[str, Callable[[Row], Any]] = {
    BY_TASK: lambda row: (row.task_id, row.trial),
    "turns": lambda row: row.turns,
    "score": lambda row: -inf if row.score is None else row.score,
    "untold": lambda row: len(row.untold),
}
"""Sort keys by name; a leading `-` reverses the order."""


class Filters(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The query of a list: filters, order and page number. A dialogue is listed only if it passes all filters."""

    run: str = ""
    domain: str = ""
    outcome: str = ""
    """An outcome, or `failed`."""
    family: str = ""
    decision: str = ""
    """Name of a hidden decision. Only dialogues in which the human never revealed this decision match."""
    turns: int | None = None
    least: float | None = None
    """Lowest score, in percent."""
    most: float | None = None
    """Highest score, in percent."""
    label: str = ""
    """A label that a person left, or `*` for any label or note."""
    text: str = ""
    """Text to find in the task's id, or in the beginning of the request or of the note; letter case is ignored."""
    sort: str = BY_TASK
    page: int = 1

    @property
    def query(self) -> str:
        """The query of the URL, `?` included; empty if all fields have their defaults."""
        given = msgspec.to_builtins(self)
        return f"?{urlencode(given)}" if given else ""

    def but(self, **changes: Any) -> Filters:
        """Return a copy with these changes; `page` becomes 1 unless the changes set it."""
        return replace(self, **{"page": 1, **changes})

    def matches(self, row: Row) -> bool:
        """Return True if a row passes the filters; the page number is ignored."""
        return self._has_outcome(row) and self._matches_rest(row)

    def _has_outcome(self, row: Row) -> bool:
        return self.outcome in ("", row.outcome) or (self.outcome == FAILED and row.failed)

    def _matches_rest(self, row: Row) -> bool:
        score = -inf if row.score is None else round(100 * row.score, DIGITS)
        bounded = self.least is not None or self.most is not None
        return (
            self.run in ("", row.run)
            and self.domain in ("", row.domain)
            and self.family in ("", row.family)
            and (not self.decision or self.decision in row.untold)
            and self.turns in (None, row.turns)
            and (not bounded or row.score is not None)
            and (self.least is None or score >= self.least)
            and (self.most is None or score <= self.most)
            and self._has_label(row)
            and self.text.lower() in f"{row.task_id}\n{row.request}\n{row.note}".lower()
        )

    def _has_label(self, row: Row) -> bool:
        if self.label == NOTED:
            return bool(row.labels or row.note)
        return not self.label or self.label in row.labels

    def select(self, rows: Iterable[Row]) -> list[Row]:
        """Return the matching rows in the requested order."""
        found = [row for row in rows if self.matches(row)]
        found.sort(key=ORDERS[self.sort.removeprefix("-")], reverse=self.sort.startswith("-"))
        return found

    def count(self, rows: Iterable[Row]) -> dict[str, int]:
        """Return the number of rows by outcome, regardless of the outcome filter; leave out outcomes without a row."""
        counts = dict.fromkeys(OUTCOMES, 0)
        for row in rows:
            if self._matches_rest(row):
                counts[row.outcome] += 1
        return {str(outcome): count for outcome, count in counts.items() if count}


def read_filters(query: Mapping[str, str]) -> Filters:
    """Return the filters of a query; empty values are left out. Raises UserError if a value is invalid."""
    try:
        found = msgspec.convert({k: v for k, v in query.items() if v}, Filters, strict=False)
    except msgspec.ValidationError as cause:
        raise UserError(f"the URL has an invalid filter: {cause}") from cause
    _refuse_other("outcome", found.outcome, [FAILED, *OUTCOMES])
    _refuse_other("sort", found.sort, [*ORDERS, *(f"-{name}" for name in ORDERS)])
    if found.page < 1:
        raise UserError(f"page={found.page}: pages are counted from 1")
    return found


def _refuse_other(name: str, value: str, known: Sequence[str]) -> None:
    if value and value not in known:
        raise UserError(f"{name}={value}: unknown; expected one of {', '.join(known)}")
