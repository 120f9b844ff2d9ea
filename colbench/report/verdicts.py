"""Parts of a domain's verdicts other than the leading number: further metrics, floors, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from colbench.domain import Domain, Metric
from colbench.report.cells import Cells
from colbench.report.dialogue_stats import DialogueStats, Judged
from colbench.report.model import Reason
from colbench.score import Score
from colbench.scorers import extra_metric
from colbench.stats import mean

NOTES = 3
"""Maximum number of notes to show about measured answers. Notes about other answers are all shown."""


def reported_metrics(domain: Domain, lead: Metric, dialogues: Iterable[Judged]) -> list[Metric]:
    """Return the metrics that a report may show: first the domain's metrics, then the metrics of extra scorers.

    If `lead` is the domain's fallback, the domain's metrics that an answer may lack are left out. Means of such metrics
    over only some answers could be mistaken for means over all.
    """
    own = [each for each in domain.metrics if lead is not domain.fallback or not each.lacking]
    found = {name: None for r in dialogues for score in r.scores.values() for name in score.metrics}
    others = [name for name in found if domain.metric(name) is None]
    return [*own, *map(extra_metric, others)]


def metric_of(domain: Domain, name: str) -> Metric:
    """Return the metric with this name, which is defined by the domain or by an extra scorer."""
    return domain.metric(name) or extra_metric(name)


def metric_label(domain: Domain, name: str) -> str:
    """Return the human-readable name of a metric."""
    return metric_of(domain, name).label


def metrics_taken(
    dialogues: Iterable[DialogueStats], mode: str, metrics: Sequence[Metric]
) -> list[Metric]:
    """Return the metrics that every measured answer has in this scoring mode."""
    scores = [
        each.scores[mode] for each in dialogues if mode in each.scores and not each.agent_failed
    ]
    measured = [score for score in scores if any(m.of(score) is not None for m in metrics)]
    return [m for m in metrics if measured and all(m.of(score) is not None for score in measured)]


def floors(cells: Cells, domain: Domain, metrics: Sequence[Metric]) -> dict[str, dict[str, float]]:
    """Return, for each floor, the mean of each metric over the tasks."""
    known = cells.clusters(lambda each: each.floors)
    names = dict.fromkeys(
        [*domain.floors, *(name for row in known for each in row for name in each)]
    )
    found: dict[str, dict[str, float]] = {}
    for floor in names:
        for metric in metrics:
            rows = [
                [x for e in row if (x := e.get(floor, {}).get(metric.name)) is not None]
                for row in known
            ]
            means = [mean(row) for row in rows if row]
            if means:
                found.setdefault(floor, {})[metric.name] = mean(means)
    return found


def notes(dialogues: Iterable[DialogueStats], mode: str, domain: Domain) -> tuple[Reason, ...]:
    """Return the notes of verdicts: all notes on answers that could not be measured, and the most frequent other notes.

    Failures of agents and a missing primary metric are reported elsewhere. Notes that differ only after their first
    semicolon are counted together.
    """
    scores = [
        score for each in dialogues if not each.agent_failed and (score := each.scores.get(mode))
    ]
    unmeasured = Counter(score.note for score in scores if score.outcome and score.note)
    others = Counter(
        score.note
        for score in scores
        if score.note and not score.outcome and not _lacks_only(score, domain)
    )
    return (*_reasons(unmeasured), *_reasons(others)[:NOTES])


def outcomes(dialogues: Iterable[DialogueStats], mode: str) -> dict[str, int]:
    """Return the number of answers that could not be measured, by the reason (`Score.outcome`)."""
    scores = (each.scores.get(mode) for each in dialogues)
    return dict(Counter(score.outcome for score in scores if score and score.outcome))


def _reasons(said: Counter[str]) -> list[Reason]:
    alike: dict[str, list[str]] = {}
    for note in said:
        alike.setdefault(note.partition(";")[0], []).append(note)
    found = [
        Reason(reason=each[0] if len(each) == 1 else start, count=sum(said[note] for note in each))
        for start, each in alike.items()
    ]
    return sorted(found, key=lambda reason: -reason.count)


def _lacks_only(score: Score, domain: Domain) -> bool:
    """Return True if a verdict has no primary metric, but a fallback metric above 0."""
    return score.value is None and bool(domain.fallback and domain.fallback.of(score))
