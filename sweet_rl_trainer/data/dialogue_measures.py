"""How an agent's dialogues went, besides their scores: turns, answers, length of the replies, entropy by turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from colbench.rollout import Rollout


def dialogue_measures(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return the means over dialogues, by the names that logs and alarms have for them.

    Dialogues that failed count as ended without an answer. `success` is of those with a verdict; `reply_tokens` and the
    entropies, −mean log-probability of what was sampled at a turn, of replies whose tokens, and log-probabilities, are
    recorded.
    """
    played = [each for each in rollouts if each.turns]
    found = {
        "turns": _mean(len(each.turns) for each in played),
        "unanswered": _mean(each.ended_by != "answer" for each in rollouts),
        "success": _mean(
            score.success
            for each in rollouts
            if (score := each.scores.get("default")) and score.success is not None
        ),
        "reply_tokens": _mean(
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
        f"entropy_turn_{number}": -(_mean(found) or 0.0)
        for number, found in sorted(by_turn.items())
        if found
    }


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None
