"""What only frontend design has: many metrics, floors, a page in force at every turn, notes on verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from colbench.config import ScoringMode
from colbench.report.cells import Cells, Lead, agent_failed, measured, value
from colbench.report.model import Reason
from colbench.rollout import Rollout
from colbench.score import Score

METRICS = ("cosine", "cosine_page", "layout", "block", "text", "position", "color", "ssim")
"""In the order of reading; `layout` is the mean of the four after it."""
FLOORS = ("black", "white", "other", "target")
NOTES = 3
"""Notes shown."""


def metrics_taken(rollouts: Iterable[Rollout], mode: ScoringMode, lead: Lead) -> list[str]:
    """The reported metrics that every measured page has."""
    scores = [r.scores[mode] for r in rollouts if mode in r.scores and r.scores[mode].metrics]
    return [name for name in _reported(lead) if scores and all(name in s.metrics for s in scores)]


def _reported(lead: Lead) -> tuple[str, ...]:
    """Without a cosine for all pages there is none of whole pages either."""
    return METRICS if lead == "cosine" else METRICS[2:]


def value_at(rollout: Rollout, turn: int, lead: Lead) -> float | None:
    """The leading measure of the page in force at a turn (from 1): the one shown last, 0 while there is none.

    None: the dialogue was not scored, or its turns were not.
    """
    final = value(rollout, "default", lead)
    scores = [measured(each.score, lead) for each in rollout.turns]
    shown = [each for each in scores if each is not None]
    if final is None or (final != 0 and not shown):
        return None
    if agent_failed(rollout):
        return 0.0
    return next((each for each in reversed(scores[:turn]) if each is not None), 0.0)


def floors(cells: Cells, lead: Lead) -> dict[str, dict[str, float]]:
    """By page, the means over the tasks of the reported metrics, in the default mode."""
    found: dict[str, dict[str, float]] = {}
    for floor in FLOORS:
        for name in _reported(lead):
            by_task = cells.clusters(lambda r, f=floor, n=name: _floor(r, f, n))  # type: ignore[misc]
            means = [sum(row) / len(row) for row in by_task if row]
            if means:
                found.setdefault(floor, {})[name] = sum(means) / len(means)
    return found


def _floor(rollout: Rollout, floor: str, name: str) -> float | None:
    score = rollout.scores.get("default")
    return score.floors.get(floor, {}).get(name) if score else None


def notes(rollouts: Iterable[Rollout], mode: ScoringMode) -> tuple[Reason, ...]:
    """What the verdicts say beside their numbers.

    The failures of agents and the lack of a cosine are told elsewhere. Notes that differ only after their first
    semicolon are taken together.
    """
    scores = (each.scores.get(mode) for each in rollouts if not agent_failed(each))
    said = Counter(
        score.note for score in scores if score and score.note and not _lacks_only(score)
    )
    alike: dict[str, list[str]] = {}
    for note in said:
        alike.setdefault(note.partition(";")[0], []).append(note)
    found = [
        Reason(reason=each[0] if len(each) == 1 else start, count=sum(said[note] for note in each))
        for start, each in alike.items()
    ]
    return tuple(sorted(found, key=lambda reason: -reason.count)[:NOTES])


def _lacks_only(score: Score) -> bool:
    """Whether a page was measured, and only the cosine could not be."""
    return score.value is None and any(score.metrics.values())
