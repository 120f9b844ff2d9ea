"""Words and numbers as the pages show them. What somebody else wrote goes through `said` or `plain`."""

from __future__ import annotations

from html import escape

from colbench.command import printable
from colbench.numbers import NOTHING, count
from colbench.report.markup import Safe
from colbench_leaderboard.bundle.schema import Track
from colbench_leaderboard.store.layout import ADDRESS
from colbench_leaderboard.verify.receipt import Estimate, Tier

DOMAINS: dict[str, str] = {"backend": "Backend programming", "frontend": "Frontend design"}
VALUES: dict[str, str] = {"backend": "Tests passed", "frontend": "Cosine"}
TRACKS: dict[Track, str] = {"standard": "Standard", "open": "Open"}
TIERS: dict[Tier, str] = {
    "T0": "well-formed",
    "T1": "rescored",
    "T2": "the simulated human was replayed",
    "T3": "run again by the maintainers",
}
CUT = 20_000
"""Characters of any one text that a page shows."""


def plain(text: str) -> str:
    """A text of somebody else without what could turn the direction of the page or control a terminal."""
    return printable(text)


def said(text: str) -> Safe:
    """A name or line of somebody else, kept apart from the words around it."""
    return Safe(f"<bdi>{escape(plain(text))}</bdi>")


def hashed(digest: str) -> Safe:
    """A whole digest, which may break anywhere."""
    return Safe(f'<span class="hash">{escape(plain(digest))}</span>')


def link(words: Safe, address: str) -> Safe:
    """A link; its address is one made here, of digests and fixed words."""
    return Safe(f'<a href="{address}">{words}</a>')


def cut(text: str) -> str:
    """A long text's beginning."""
    if len(text) <= CUT:
        return plain(text)
    return f"{plain(text[:CUT])}\n[{len(text) - CUT:,} more characters are in the bundle]"


def beginning(text: str, most: int) -> str:
    """The first words of a text, `most` characters at most."""
    return plain(text) if len(text) <= most else f"{plain(text[:most]).rsplit(' ', 1)[0]} …"


def short(digest: str) -> str:
    """What stands for a digest in addresses."""
    return digest[:ADDRESS]


def share(value: float | None) -> str:
    """A share in per cent, without the sign: `42.3`."""
    return NOTHING if value is None else f"{value * 100:.1f}"


def amount(value: float | None, digits: int = 1) -> str:
    """`4.7`; `1,234` from a thousand on."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def signed(value: float) -> str:
    """Percentage points with a true minus sign: `−1.2`."""
    shown = f"{value * 100:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def between(estimate: Estimate) -> str:
    """The interval of a share, in per cent: `39.1–45.4`."""
    return f"{share(estimate.low)}–{share(estimate.high)}"


def between_points(estimate: Estimate) -> str:
    """The interval of a difference, in points: `−2.0 to 0.4`."""
    return f"{signed(estimate.low)} to {signed(estimate.high)}"


def chance(p: float) -> str:
    """A p-value: `0.03`, `< 0.001`."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def dollars(value: float | None) -> str:
    """`$0.012`."""
    return NOTHING if value is None else f"${value:,.4f}" if value < 0.1 else f"${value:,.2f}"


def trials(number: int) -> str:
    """`1 trial`."""
    return count(number, "trial")
