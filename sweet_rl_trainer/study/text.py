"""Numbers as a reader wants them, and Markdown in which text from outside stays text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from colbench.stats import Interval

NOTHING = "–"
"""Where there is no number."""


def percent(share: float | None) -> str:
    """`42.3 %`"""
    return NOTHING if share is None or math.isnan(share) else f"{share * 100:.1f} %"


def rate(found: Interval) -> str:
    """`42.3 % (39.1 to 45.4)`; `, exact` if the interval is not a bootstrap's (`docs/metrics.md`)."""
    if found.low is None or found.high is None:
        return percent(found.mean)
    exact = ", exact" if found.method == "exact" else ""
    return f"{percent(found.mean)} ({found.low * 100:.1f} to {found.high * 100:.1f}{exact})"


def shown(bounds: tuple[float, float, float]) -> str:
    """A mean and the ends of its interval: `42.3 % (39.1 to 45.4)`"""
    mean, low, high = bounds
    return f"{percent(mean)} ({low * 100:.1f} to {high * 100:.1f})"


def bounds(found: Interval) -> tuple[float, float, float]:
    """Mean and ends of an interval. Raises ValueError for one of nothing."""
    if found.mean is None or found.low is None or found.high is None:
        raise ValueError("an interval of nothing")
    return found.mean, found.low, found.high


def points(found: Interval) -> str:
    """A difference of shares: `−1.2 (−2.0 to −0.4)`."""
    if found.mean is None or found.low is None or found.high is None:
        return NOTHING
    low, high = signed(found.low * 100), signed(found.high * 100)
    return f"{signed(found.mean * 100)} ({low} to {high})"


def signed(value: float, digits: int = 1) -> str:
    """With its sign, a true minus, and no sign for zero."""
    if math.isnan(value):
        return NOTHING
    shown = f"{value:+.{digits}f}"
    return shown[1:] if float(shown) == 0 else shown.replace("-", "−")


def number(value: float | None) -> str:
    """`4.7`"""
    return NOTHING if value is None else f"{value:,.1f}"


def chance(p: float | None) -> str:
    """A p-value: `0.012`, `< 0.001`."""
    if p is None:
        return NOTHING
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `3 min 20 s`, `2 h 5 min`"""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


def memory(size: int | None) -> str:
    """`1.3 GiB`, `640 MiB`"""
    if size is None:
        return NOTHING
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def count(amount: int, noun: str) -> str:
    """`1 task`, `1,000 tasks`"""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`"""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def plain(value: object) -> str:
    """A setting as text: `3,400,000`, `0.0003`, `a, b`, `yes`, `key = 1; key = 2`."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case dict() | list() | tuple():
            return _several(value) or "none"
        case None | "":
            return "none"
    return str(value)


def _several(values: Mapping[str, object] | Sequence[object]) -> str:
    if isinstance(values, Mapping):
        return ", ".join(f"{key} = {plain(each)}" for key, each in values.items())
    between = "; " if any(isinstance(each, Mapping) for each in values) else ", "
    return between.join(map(plain, values))


def escape(text: str) -> str:
    """Text as Markdown of one line, in a paragraph or a table's cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$!])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A command, a key or a path as Markdown, in a table's cell."""
    text = " ".join(text.split()).replace("|", "\\|")
    runs = {len(run) for run in re.findall("`+", text)}
    fence = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}" if text else NOTHING


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; numbers stand on the right where their head ends in a space."""
    rule = ["--:" if head.endswith(" ") else "---" for head in heads]
    lines = [[head.strip() for head in heads], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
