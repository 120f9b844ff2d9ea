"""The effect of rescoring, summed over a run's dialogues without keeping them in memory."""

from __future__ import annotations

from typing import NamedTuple

from colbench.domain import Domain, Metric
from colbench.registry import get_domain
from colbench.rollout import Failure, Rollout


class Lost:
    """A count of the dialogues that could not be scored again; falsy if the count is 0."""

    def __init__(self) -> None:
        self.dialogues = 0
        self.reason = ""
        """Reason why the first of these dialogues could not be scored."""

    def add(self, failure: Failure) -> None:
        """Count a dialogue that could not be scored because of this failure."""
        self.reason = self.reason or failure.reason
        self.dialogues += 1

    def __bool__(self) -> bool:
        return self.dialogues > 0


class _Measure(NamedTuple):
    """A metric in a scoring mode, and its human-readable label."""

    label: str
    mode: str
    metric: Metric


class _Mean:
    """A mean of values that are added one at a time."""

    def __init__(self) -> None:
        self.sum, self.count = 0.0, 0

    def add(self, value: float | None) -> None:
        """Add a value; ignore None."""
        if value is not None:
            self.sum += value
            self.count += 1

    def __str__(self) -> str:
        return f"{100 * self.sum / self.count:.2f}%" if self.count else "unscored"


class _Change:
    """The values of one measure before and after rescoring, and the number of values that changed."""

    def __init__(self) -> None:
        self.before, self.after, self.changed = _Mean(), _Mean(), 0

    def add(self, old: float | None, new: float | None) -> None:
        """Add a dialogue's value before rescoring (`old`) and after it (`new`)."""
        self.before.add(old)
        self.after.add(new)
        self.changed += old != new

    @property
    def delta(self) -> str:
        """The change of the mean in percentage points, with its sign; `-` if one of the two means has no values."""
        old, new = self.before, self.after
        if not old.count or not new.count:
            return "-"
        return f"{100 * (new.sum / new.count - old.sum / old.count):+.2f}"


class Delta:
    """The means before and after rescoring in each scoring mode, and how many verdicts changed."""

    def __init__(self) -> None:
        self._changes: dict[str, dict[_Measure, _Change]] = {}

    def add(self, old: Rollout, new: Rollout) -> None:
        """Add a dialogue with its earlier and its new verdicts."""
        domain = get_domain(new.domain)
        if domain.name not in self._changes:
            self._changes[domain.name] = {measure: _Change() for measure in _measures(domain)}
        for measure, change in self._changes[domain.name].items():
            values = (measure.metric.of(each.scores.get(measure.mode)) for each in (old, new))
            change.add(*values)

    def show(self) -> None:
        """Print a table of each measure before and after rescoring."""
        from rich.table import Table
        from rich.text import Text

        from colbench.console import console, printable

        table = Table(box=None, pad_edge=False, title="scored again", title_justify="left")
        for column in ("mode", "before", "after", "delta", "changed"):
            table.add_column(column, justify="left" if column == "mode" else "right")
        for changes in self._changes.values():
            for measure, each in changes.items():
                if each.before.count or each.after.count:
                    table.add_row(
                        Text(printable(measure.label)),
                        str(each.before),
                        str(each.after),
                        each.delta,
                        str(each.changed),
                    )
        console().print(table)


def _measures(domain: Domain) -> list[_Measure]:
    """Return the measures of a domain, one for each row of the table, in the order of its scoring modes."""
    found = []
    for mode in domain.modes:
        found.append(_Measure(mode, mode, domain.primary))
        if domain.fallback:
            found.append(_Measure(f"{mode}, {domain.fallback.label}", mode, domain.fallback))
    return found
