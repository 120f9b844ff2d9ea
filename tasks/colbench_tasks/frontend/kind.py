"""A kind of page, and the short notation in which the module `kinds` defines kinds."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from colbench_tasks.frontend.sections import SECTIONS, Section
from colbench_tasks.frontend.subjects import Trade, trades

Sections = tuple[Section, ...]


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of page. Each page has the sections of one of the `plans`, followed by some of the `extras`."""

    domain: ClassVar[Literal["frontend"]] = "frontend"
    name: str
    version: int = 1
    """The version, which rises with every change of the kind's tasks. Frozen sets name the version that they use."""
    plans: tuple[Sections, ...]
    extras: Sections
    fewest: int
    most: int
    """The largest number of extras; `fewest` is the smallest number."""
    titles: tuple[str, ...]
    """Headlines to draw from; if empty, the headline is one of the trade's headlines."""
    requests: tuple[str, ...]
    """Templates with `$name`, `$trade`, `$Trade` and `$style`; "a" becomes "an" before a vowel."""
    opens: bool
    """True if an opening precedes the plan; False if the plan contains the headline."""
    trades: tuple[Trade, ...]
    """The trades whose businesses request such a page."""


def kind(
    name: str,
    plans: str,
    extras: str,
    titles: str,
    requests: str,
    *,
    fewest: int = 0,
    most: int = 2,
    opens: bool = True,
    sells: bool = False,
    fields: str = "",
) -> Kind:
    """Build a kind of page from texts.

    In these texts, ` | ` separates `plans`, ` / ` separates `titles`, and newlines separate `requests`. Spaces separate
    section names in each plan and in `extras`, and field names in `fields`. The kind gets the trades of these fields,
    or all trades if `fields` is empty. With `sells`, trades whose items have no prices are left out.
    """
    wanted = fields.split()
    return Kind(
        name=name,
        plans=tuple(_sections(plan) for plan in plans.split(" | ")),
        extras=_sections(extras),
        fewest=fewest,
        most=most,
        titles=tuple(titles.split(" / ")) if titles else (),
        requests=tuple(requests.strip().splitlines()),
        opens=opens,
        trades=tuple(
            trade
            for trade in trades()
            if (trade.sells or not sells) and (trade.field in wanted or not wanted)
        ),
    )


def _sections(names: str) -> Sections:
    return tuple(SECTIONS[name] for name in names.split())
