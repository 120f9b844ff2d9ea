"""What a kind of page is, and the short notation in which `kinds` writes them."""

from __future__ import annotations

from msgspec import Struct

from colbench_tasks.frontend.sections import SECTIONS, Section
from colbench_tasks.frontend.subjects import Trade, trades

Sections = tuple[Section, ...]


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of page: one of the `plans`, then some of the `extras`."""

    name: str
    plans: tuple[Sections, ...]
    extras: Sections
    fewest: int
    most: int
    """So many extras at the least and at the most."""
    titles: tuple[str, ...]
    """What the page may be headed with; empty where that is up to the business."""
    requests: tuple[str, ...]
    """`$name`, `$trade`, `$Trade` and `$style` are filled in; then "a" becomes "an" where it must."""
    opens: bool
    """Whether there is an opening before the plan; else the plan has the headline."""
    trades: tuple[Trade, ...]
    """Those that would ask for such a page."""


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
    """A kind; in `plans` there is a ` | ` between one and the next, in `titles` a ` / `."""
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
