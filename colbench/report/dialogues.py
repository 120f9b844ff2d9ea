"""The course of the dialogues: turns, words, tokens, cost, leaks, failures, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from colbench.errors import Boundary
from colbench.report.cells import Cells
from colbench.report.dialogue_stats import DialogueStats, RoleStats
from colbench.report.model import (
    Cost,
    Failures,
    Leaks,
    LeakShare,
    Reason,
    Replies,
    Tokens,
    Turns,
    Words,
)
from colbench.stats import mean_interval

REASONS = 3
"""Maximum number of reasons to list for each boundary, and of error types to list for crashed answers."""


def turns_used(cells: Cells, turns: int) -> Turns:
    """Return the mean number of the agent's replies in a dialogue, and the number of dialogues with 1, 2, … replies.

    `turns` is the highest number of replies to count. `cells` must not contain dialogues that ended in a failure.
    """
    counts = Counter(each.turns for each in cells.dialogues)
    return Turns(
        mean=mean_interval(cells.clusters(lambda each: each.turns), bounds=None),
        distribution=tuple(counts[turn] for turn in range(1, turns + 1)),
    )


def words(cells: Cells) -> Words:
    """Return the mean number of words per dialogue, for agent and human.

    `cells` must not contain dialogues that ended in a failure.
    """
    return Words(
        human=mean_interval(cells.clusters(lambda each: each.human_words), bounds=None),
        agent=mean_interval(cells.clusters(lambda each: each.agent_words), bounds=None),
    )


def tokens(roles: Iterable[RoleStats]) -> Tokens | None:
    """Return the total token counts of one role; None if no server counted tokens."""
    listed = list(roles)
    counted = [each.usage for each in listed if each.usage]
    if not counted:
        return None
    return Tokens(
        prompt=sum(each.prompt_tokens for each in counted),
        completion=sum(each.completion_tokens for each in counted),
        requests=sum(each.requests for each in counted),
        uncounted=sum(each.uncounted for each in listed),
    )


def replies(dialogues: Iterable[DialogueStats]) -> dict[str, Replies]:
    """Return counts and waits of the replies that came from model servers, by role, summed over the dialogues.

    A role is left out if none of its replies came from a model server.
    """
    listed = list(dialogues)
    found = {
        "agent": _replies([each.agent for each in listed]),
        "human": _replies([each.human for each in listed]),
    }
    return {role: each for role, each in found.items() if each.total}


def _replies(roles: Sequence[RoleStats]) -> Replies:
    return Replies(
        total=sum(each.served for each in roles),
        empty=sum(each.empty for each in roles),
        cut=sum(each.cut for each in roles),
        filtered=sum(each.filtered for each in roles),
        refused=sum(each.refused for each in roles),
        retries=sum(each.retries for each in roles),
        waited=sum(wait for each in roles for wait in each.waits),
    )


def cost(
    used: dict[str, Tokens | None],
    agent_price: tuple[float, float] | None,
    human_price: tuple[float, float] | None,
) -> Cost:
    """Return the cost in US dollars by role, from prices in dollars per million prompt and completion tokens."""
    return Cost(agent=_price(used["agent"], agent_price), human=_price(used["human"], human_price))


def _price(used: Tokens | None, price: tuple[float, float] | None) -> float | None:
    if used is None or price is None:
        return None
    return (used.prompt * price[0] + used.completion * price[1]) / 1e6


def leaks(dialogues: Iterable[DialogueStats]) -> Leaks | None:
    """Return the leak audit over the dialogues with an audited reply; None without such dialogues."""
    audited = [each.leak for each in dialogues if each.leak]
    if not audited:
        return None
    identifiers, literals, ngrams = (_share(shares) for shares in zip(*audited, strict=True))
    return Leaks(dialogues=len(audited), identifiers=identifiers, literals=literals, ngrams=ngrams)


def _share(shares: Sequence[float]) -> LeakShare:
    return LeakShare(mean=sum(shares) / len(shares), max=max(shares))


def failures(dialogues: Iterable[DialogueStats]) -> dict[Boundary, Failures]:
    """Count the failed dialogues by boundary, most frequent boundary first, with each boundary's most frequent reasons.

    At most `REASONS` reasons are listed for each boundary.
    """
    found: dict[Boundary, Counter[str]] = {}
    for each in dialogues:
        if each.failure:
            found.setdefault(each.failure.boundary, Counter())[each.failure.reason] += 1
    return {
        boundary: Failures(
            count=reasons.total(),
            reasons=tuple(Reason(reason=r, count=n) for r, n in reasons.most_common(REASONS)),
        )
        for boundary, reasons in sorted(found.items(), key=lambda item: -item[1].total())
    }


def wall_seconds(dialogues: Iterable[DialogueStats]) -> float:
    """Return the seconds during which at least one dialogue was running; pauses between resumed runs do not count."""
    spans = sorted(
        (each.began, each.began + each.seconds) for each in dialogues if each.began is not None
    )
    total, reached = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
