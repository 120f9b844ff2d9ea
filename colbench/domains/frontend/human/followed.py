"""Outcomes of the differences that the human pointed out: fixed, kept or worse on the agent's next page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from colbench.domains.frontend.human.differences import differences
from colbench.domains.frontend.human.scene import Difference
from colbench.pages.render import Render
from colbench.rollout import Followed

WORSE = 1.1
"""Factor by which a severity must grow to count as worse; a smaller growth may come from changes nearby."""

Outcome = Literal["fixed", "kept", "worse"]


def all_followed(
    target: Render, pages: Sequence[Render | None], replies: Sequence[str | None]
) -> list[Followed | None]:
    """Return, for each turn, the outcomes of the differences that the human's reply names word for word.

    `pages` has the page of each turn, or None if the turn has no page. The outcome of a difference depends on the next
    page, and is `worse` if that page cannot be rendered. A turn's result is None if the turn has no page or its page
    cannot be rendered, if its reply names no difference, or if no page follows.
    """
    found = [differences(target, page) if page and page.picture else None for page in pages]
    return [
        _followed(found, pages, number, reply or "") if page else None
        for number, (page, reply) in enumerate(zip(pages, replies, strict=True))
    ]


def _followed(
    found: Sequence[list[Difference] | None],
    pages: Sequence[Render | None],
    number: int,
    reply: str,
) -> Followed | None:
    pointed = [one for one in found[number] or () if one.sentence in reply]
    after = next((n for n in range(number + 1, len(pages)) if pages[n]), None)
    if not pointed or after is None:
        return None
    left = found[after]
    if left is None:
        return Followed(worse=len(pointed))
    counts = Counter(_outcome(one, left) for one in pointed)
    return Followed(fixed=counts["fixed"], kept=counts["kept"], worse=counts["worse"])


def _outcome(one: Difference, left: Sequence[Difference]) -> Outcome:
    """Return the outcome of a difference, given the differences `left` on the next page.

    The outcome is `worse` if the severity grew by at least the factor `WORSE`, or if the difference concerns a block
    that the current page has and the next page lacks.
    """
    alike = [other for other in left if other.subjects & one.subjects]
    same = [other.severity for other in alike if other.aspect == one.aspect]
    if one.aspect != "missing" and any(other.aspect == "missing" for other in alike):
        return "worse"
    if not same:
        return "fixed"
    return "worse" if max(same) >= WORSE * one.severity else "kept"
