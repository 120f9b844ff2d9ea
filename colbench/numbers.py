"""Numbers as a reader wants them; used by the table and by the page."""

from __future__ import annotations

from colbench.stats import Interval

NOTHING = "–"
"""Shown where there is no number."""


def percent(share: float | None) -> str:
    """`42.3 %`"""
    return NOTHING if share is None else f"{share * 100:.1f} %"


def whole_percent(share: float | None) -> str:
    """`42 %`"""
    return NOTHING if share is None else f"{share * 100:.0f} %"


def percent_range(interval: Interval) -> str:
    """`39.1 to 45.4 %`; `, exact` if the interval is not a bootstrap's."""
    if interval.low is None or interval.high is None:
        return "no interval"
    exact = ", exact" if interval.method == "exact" else ""
    return f"{interval.low * 100:.1f} to {interval.high * 100:.1f} %{exact}"


def points(interval: Interval) -> str:
    """A difference of shares with its sign: `−1.2 points`."""
    if interval.mean is None:
        return NOTHING
    return f"{signed(interval.mean * 100)} points"


def points_range(interval: Interval) -> str:
    """`−2.0 to −0.4`"""
    if interval.low is None or interval.high is None:
        return "no interval"
    return f"{signed(interval.low * 100)} to {signed(interval.high * 100)}"


def signed(value: float) -> str:
    """One decimal, with a true minus sign, and no sign for zero."""
    shown = f"{value:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def number(value: float | None) -> str:
    """`4.7`"""
    return NOTHING if value is None else f"{value:.1f}"


def number_range(interval: Interval) -> str:
    """`4.5 to 4.9`"""
    if interval.low is None or interval.high is None:
        return "no interval"
    return f"{interval.low:.1f} to {interval.high:.1f}"


def title(name: str) -> str:
    """`Whole page` for `whole page`; letters after the first are left as they are."""
    return name[:1].upper() + name[1:]


def count(amount: int, noun: str, plural: str = "") -> str:
    """`1 task`, `1,000 tasks`."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def short(amount: int) -> str:
    """`950`, `12.3 k`, `4.5 M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if amount >= size:
            return f"{amount / (1e3 if unit == 'k' else size):.1f} {unit}"
    return f"{amount:,}"


def dollars(amount: float | None) -> str:
    """`$0.12`; a price that is not known is `unknown`."""
    if amount is None:
        return "unknown"
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
