"""Human-readable numbers and counts, for the terminal, for reports and for the leaderboard's pages.

Functions that accept None as a value return `NOTHING` for None, except `dollars`. For an interval without ends,
functions return `NO_INTERVAL`, unless their docstring says otherwise.
"""

from __future__ import annotations

from typing import Protocol

from colbench.stats import Interval

NOTHING = "–"
"""Placeholder for a missing number."""
NO_INTERVAL = "no interval"


class Range(Protocol):
    """Any object with a lower and an upper end."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def percent(share: float | None) -> str:
    """Return a share as `42.3%`."""
    return NOTHING if share is None else f"{share * 100:.1f}%"


def whole_percent(share: float | None) -> str:
    """Return a share as `42%`."""
    return NOTHING if share is None else f"{share * 100:.0f}%"


def percent_range(interval: Interval) -> str:
    """Return an interval as `39.1 to 45.4%`, followed by `, exact` if the interval is not a bootstrap interval."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    exact = ", exact" if interval.method == "exact" else ""
    return f"{interval.low * 100:.1f} to {interval.high * 100:.1f}%{exact}"


def percent_with_range(interval: Interval) -> str:
    """Return a share as `42.3% (39.1 to 45.4)`, followed by `, exact` if the interval is not a bootstrap interval.

    Return only the share if the interval has no ends.
    """
    if interval.low is None or interval.high is None:
        return percent(interval.mean)
    exact = ", exact" if interval.method == "exact" else ""
    ends = f"{bare_percent(interval.low)} to {bare_percent(interval.high)}"
    return f"{percent(interval.mean)} ({ends}{exact})"


def measure(value: float | None, unit: str) -> str:
    """Format a metric's value with its unit: `42.3%`, `4.70 s`, or `0.012` for a metric without a unit."""
    return percent(value) if unit == "%" else f"{_precise(value)} {unit}".rstrip()


def measure_range(interval: Interval, unit: str) -> str:
    """Return the interval of a metric: `39.1 to 45.4%` for the unit `%`, else `4.50 to 4.90 s`."""
    if unit == "%" or interval.low is None:
        return percent_range(interval)
    exact = ", exact" if interval.method == "exact" else ""
    return f"{_precise(interval.low)} to {_precise(interval.high)} {unit}".rstrip() + exact


def _precise(value: float | None) -> str:
    """Return a number as `4.70`, as `0.012` if it is below 0.1, or as `1,234` if it is 1,000 or more."""
    return f"{value:.2g}" if value and abs(value) < 0.1 else amount(value, 2)


def bare_percent(share: float | None) -> str:
    """Return a share as `42.3`, for a column whose header has the percent sign."""
    return NOTHING if share is None else f"{share * 100:.1f}"


def bare_percent_range(interval: Range) -> str:
    """Return an interval as `39.1–45.4`, for a column whose header has the percent sign."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    return f"{bare_percent(interval.low)}–{bare_percent(interval.high)}"


def points(share: float | None) -> str:
    """Return a difference of shares with its sign: `−1.2 points`."""
    return NOTHING if share is None else f"{bare_points(share)} points"


def bare_points(share: float) -> str:
    """Return a difference of shares in percentage points: `−1.2`."""
    return signed(share * 100)


def points_range(interval: Range) -> str:
    """Return an interval of a difference as `−2.0 to −0.4`."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    return f"{bare_points(interval.low)} to {bare_points(interval.high)}"


def points_with_range(interval: Interval) -> str:
    """Return a difference and its interval as `−1.2 (−2.0 to −0.4)`; `NOTHING` if a number is missing."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return NOTHING
    return f"{bare_points(interval.mean)} ({points_range(interval)})"


def signed(value: float, digits: int = 1) -> str:
    """Return a number as `+1.2`, `0.0` or `−1.2`, with a true minus sign."""
    shown = f"{value:+.{digits}f}"
    return shown[1:] if float(shown) == 0 else shown.replace("-", "−")


def number(value: float | None) -> str:
    """Return a number as `4.7`."""
    return NOTHING if value is None else f"{value:.1f}"


def number_range(interval: Range) -> str:
    """Return an interval of numbers as `4.5 to 4.9`."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    return f"{interval.low:.1f} to {interval.high:.1f}"


def amount(value: float | None, digits: int = 1) -> str:
    """Return a number as `4.7`, or `1,234` if it is 1,000 or more."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if round(abs(value), digits) >= 1000 else f"{value:.{digits}f}"


def p_value(p: float | None) -> str:
    """Return a p-value as `0.012`, `0.310`, `< 0.001`."""
    if p is None:
        return NOTHING
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def sentence(text: str) -> str:
    """Return a text with its first letter in upper case, such as `Whole page` for `whole page`."""
    return text[:1].upper() + text[1:]


def count(amount: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: `1 task`, `1,000 tasks`."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def short(amount: int) -> str:
    """Return a count below 10,000 as `9,500`, and a larger count as `12.3 k` or `4.5 M`."""
    if amount < 1e4:
        return f"{amount:,}"
    found = ((amount / size, unit) for size, unit in ((1e3, "k"), (1e6, "M")))
    value, unit = next((each for each in found if round(each[0], 1) < 1000), (amount / 1e9, "G"))
    return f"{value:.1f} {unit}"


def dollars(amount: float | None) -> str:
    """Return a price as `$1.20`, `$0.0123`; an unknown price is `unknown`."""
    if amount is None:
        return "unknown"
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"


def duration(seconds: float) -> str:
    """Return a duration as `0.4 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


def memory(size: int | None) -> str:
    """Return bytes as `640 MiB`, `1.3 GiB`."""
    if size is None:
        return NOTHING
    mib = round(size / 2**20)
    return f"{size / 2**30:.1f} GiB" if mib >= 1024 else f"{mib} MiB"
