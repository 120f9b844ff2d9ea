"""Measures of an agent's dialogues: turns, missing answers, success, length of replies, entropy of each turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from colbench.rollout import Rollout


def dialogue_measures(rollouts: Sequence[Rollout], scoring: str = "default") -> dict[str, float]:
    """Return the means over dialogues, keyed by the names that logs and alarms use.

    A failed dialogue counts as one that ended without an answer. `turns` is a mean over dialogues with at least one
    turn, `success` a mean over dialogues with a verdict in this scoring mode, and `reply_tokens` a mean over replies
    with recorded tokens. The entropy of a turn is the negative mean of the recorded log-probabilities of its sampled
    tokens. A measure without data is left out.
    """
    played = [each for each in rollouts if each.turns]
    found = {
        "turns": mean(len(each.turns) for each in played),
        "unanswered": mean(each.ended_by != "answer" for each in rollouts),
        "success": mean(
            score.success
            for each in rollouts
            if (score := each.scores.get(scoring)) and score.success is not None
        ),
        "reply_tokens": mean(
            len(turn.sampled.ids) for each in played for turn in each.turns if turn.sampled
        ),
        **_entropies(played),
    }
    return {name: value for name, value in found.items() if value is not None}


def _entropies(rollouts: Iterable[Rollout]) -> dict[str, float | None]:
    by_turn: dict[int, list[float]] = defaultdict(list)
    for each in rollouts:
        for number, turn in enumerate(each.turns, 1):
            if turn.sampled:
                by_turn[number] += turn.sampled.logprobs
    return {
        f"entropy_turn_{number}": -(mean(found) or 0.0)
        for number, found in sorted(by_turn.items())
        if found
    }


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values; None if no value is known."""
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None
