"""The course of the dialogues: turns, words, tokens, cost, leaks, failures, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from colbench.errors import Boundary
from colbench.messages import Delivery, Usage, split_thoughts
from colbench.registry import get_domain
from colbench.report.cells import Cells
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
from colbench.rollout import Rollout, Turn
from colbench.stats import mean_interval

REASONS = 3
"""Example reasons shown for each boundary."""


def turns_used(cells: Cells, max_turns: int) -> Turns:
    """Count the replies of the agent, over the whole dialogues."""
    counts = Counter(len(rollout.turns) for rollout in cells.rollouts)
    return Turns(
        mean=mean_interval(cells.clusters(lambda rollout: len(rollout.turns)), bounds=None),
        distribution=tuple(counts[turn] for turn in range(1, max_turns + 1)),
    )


def words(cells: Cells) -> Words:
    """Count the words of each side, over the whole dialogues."""
    return Words(
        human=mean_interval(cells.clusters(human_words), bounds=None),
        agent=mean_interval(cells.clusters(agent_words), bounds=None),
    )


def human_words(rollout: Rollout) -> int:
    """Count the words of the human's replies; the request is not counted."""
    return sum(len((turn.human or "").split()) for turn in rollout.turns)


def agent_words(rollout: Rollout) -> int:
    """Count the words that the human was given to read (`Domain.readable`)."""
    talk = rollout.turns[:-1] if rollout.ended_by == "limit" else rollout.turns
    readable = get_domain(rollout.domain).readable
    return sum(len(readable(turn.said).split()) for turn in talk)


def tokens(usages: Iterable[Usage | None]) -> Tokens | None:
    """Return the sum over all replies of one role; None when no server counted."""
    listed = list(usages)
    counted = [usage for usage in listed if usage]
    if not counted:
        return None
    total = sum(counted, Usage())
    return Tokens(
        prompt=total.prompt_tokens,
        completion=total.completion_tokens,
        requests=total.requests,
        uncounted=len(listed) - len(counted),
    )


def agent_usages(rollouts: Iterable[Rollout]) -> Iterator[Usage | None]:
    """Yield the tokens of the agent's replies, one item for each reply."""
    return (turn.agent_usage for turn in _turns(rollouts))


def human_usages(rollouts: Iterable[Rollout]) -> Iterator[Usage | None]:
    """Yield the tokens of the human's replies, one item for each reply."""
    return (turn.human_usage for turn in _turns(rollouts) if turn.human is not None)


def _turns(rollouts: Iterable[Rollout]) -> Iterator[Turn]:
    return (turn for rollout in rollouts for turn in rollout.turns)


def replies(rollouts: Iterable[Rollout]) -> dict[str, Replies]:
    """Count, by role, how the replies came from model servers; roles without a model server are left out."""
    turns = list(_turns(rollouts))
    agent = [(t.agent_delivery, not split_thoughts(t.raw)[1].strip()) for t in turns]
    human = [(t.human_delivery, not t.human) for t in turns if t.human is not None]
    found = {"agent": _replies(agent), "human": _replies(human)}
    return {role: each for role, each in found.items() if each.total}


def _replies(came: Iterable[tuple[Delivery | None, bool]]) -> Replies:
    """Count deliveries, each given with True if the reply is empty."""
    known = [(delivery, empty) for delivery, empty in came if delivery]
    return Replies(
        total=len(known),
        empty=sum(empty for _, empty in known),
        cut=sum(delivery.cut for delivery, _ in known),
        filtered=sum(delivery.filtered for delivery, _ in known),
        refused=sum(delivery.refused for delivery, _ in known),
        retries=sum(delivery.retries for delivery, _ in known),
        waited=sum(delivery.waited for delivery, _ in known),
    )


def cost(
    used: dict[str, Tokens | None],
    agent_price: tuple[float, float] | None,
    human_price: tuple[float, float] | None,
) -> Cost:
    """Return US dollars by role, for prices by the million prompt and completion tokens."""
    return Cost(agent=_price(used["agent"], agent_price), human=_price(used["human"], human_price))


def _price(used: Tokens | None, price: tuple[float, float] | None) -> float | None:
    if used is None or price is None:
        return None
    return (used.prompt * price[0] + used.completion * price[1]) / 1e6


def leaks(rollouts: Iterable[Rollout]) -> Leaks | None:
    """Return the leak audit, over the dialogues in which any reply was audited."""
    audited = [
        found
        for rollout in rollouts
        if (found := [turn.leak for turn in rollout.turns if turn.leak])
    ]
    if not audited:
        return None
    return Leaks(
        dialogues=len(audited),
        identifiers=_share([[leak.identifiers for leak in found] for found in audited]),
        literals=_share([[leak.literals for leak in found] for found in audited]),
        ngrams=_share([[leak.ngrams for leak in found] for found in audited]),
    )


def _share(dialogues: Sequence[Sequence[float]]) -> LeakShare:
    shares = [min(1.0, sum(replies)) for replies in dialogues]
    return LeakShare(mean=sum(shares) / len(shares), max=max(shares))


def failures(rollouts: Iterable[Rollout]) -> dict[Boundary, Failures]:
    """Return failed cells by boundary, the most frequent boundary first."""
    found: dict[Boundary, Counter[str]] = {}
    for rollout in rollouts:
        if rollout.failure:
            found.setdefault(rollout.failure.boundary, Counter())[rollout.failure.reason] += 1
    return {
        boundary: Failures(
            count=reasons.total(),
            reasons=tuple(Reason(reason=r, count=n) for r, n in reasons.most_common(REASONS)),
        )
        for boundary, reasons in sorted(found.items(), key=lambda item: -item[1].total())
    }


def wall_seconds(rollouts: Iterable[Rollout]) -> float:
    """Return the time in which at least one dialogue was running: pauses between resumed runs do not count."""
    spans = sorted(_span(rollout) for rollout in rollouts if rollout.started)
    total, reached = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _span(rollout: Rollout) -> tuple[float, float]:
    start = datetime.fromisoformat(rollout.started).timestamp()
    return start, start + rollout.seconds
