"""The scores of the agent: rates, pass^k, the difference between scoring modes, the scores by turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from colbench.domain import Domain, Metric
from colbench.report.cells import Cells, success, unjudged, value, value_at
from colbench.report.dialogue_stats import DialogueStats, Judged
from colbench.report.model import Budget, ModeDelta, ModeReport, PassK, Rates
from colbench.report.verdicts import metrics_taken
from colbench.stats import Interval, mean_interval, pass_k

Clusters = Sequence[Sequence[float]]


def modes(dialogues: Iterable[Judged], wanted: str, domain: Domain, lead: Metric) -> list[str]:
    """Return the scoring modes to report, the leading one first.

    A mode is used if it has verdicts. In a domain with a fallback metric, an answer must also have the leading metric
    (`lead`) in this mode. The requested mode (`wanted`) leads if the domain has this mode. In a domain with a fallback
    metric, the requested mode must also be used, unless no mode is used. If the requested mode cannot lead, the
    domain's first mode leads. The other used modes follow.
    """
    used = {
        mode
        for each in dialogues
        for mode, score in each.scores.items()
        if not domain.fallback or (not each.agent_failed and lead.of(score) is not None)
    }
    possible = wanted in domain.modes and (wanted in used or not used or not domain.fallback)
    first = wanted if possible else domain.modes[0]
    return [first, *(mode for mode in domain.modes if mode in used and mode != first)]


def scorers(dialogues: Iterable[DialogueStats], mode: str) -> dict[str, int]:
    """Return the number of verdicts of each scorer in a mode, without dialogues in which the agent failed."""
    return dict(
        Counter(
            score.scorer
            for each in dialogues
            if (score := each.scores.get(mode)) and not each.agent_failed
        )
    )


def mode_report(
    cells: Cells, mode: str, domain: Domain, lead: Metric, metrics: Sequence[Metric]
) -> ModeReport:
    """Return the results of one scoring mode; `metrics`: the metrics that may be reported."""
    values = cells.clusters(lambda each: value(each, mode, lead))
    successes = cells.clusters(lambda each: success(each, mode))
    scored = sum(map(len, values))
    due = [sum(not (each and unjudged(each, mode, lead)) for each in row) for row in cells.grid]
    rates = _rates(domain, lead, values, successes)
    known = {lead.name: rates.value}
    if domain.success and rates.success_rate:
        known[domain.success.name] = rates.success_rate
    return ModeReport(
        success_rate=rates.success_rate,
        value=rates.value,
        scored=scored,
        scored_tasks=sum(map(bool, values)),
        unscored=sum(due) - scored,
        unscored_as_zero=_rates(domain, lead, _fill(values, due), _fill(successes, due))
        if scored < sum(due)
        else None,
        pass_k=_pass_k(successes, cells.trials) if domain.success else (),
        metrics={
            metric.name: known.get(metric.name) or _mean_of(cells, mode, metric)
            for metric in metrics_taken(cells.dialogues, mode, metrics)
        },
    )


def _rates(domain: Domain, lead: Metric, values: Clusters, successes: Clusters) -> Rates:
    return Rates(
        success_rate=mean_interval(successes) if domain.success else None,
        value=mean_interval(values, lead.bounds),
    )


def _mean_of(cells: Cells, mode: str, metric: Metric) -> Interval:
    return mean_interval(cells.clusters(lambda each: value(each, mode, metric)), metric.bounds)


def _fill(clusters: Clusters, sizes: Sequence[int]) -> Clusters:
    filled = zip(clusters, sizes, strict=True)
    return [[*cluster, *[0.0] * (size - len(cluster))] for cluster, size in filled]


def _pass_k(successes: Sequence[Sequence[bool]], trials: int) -> tuple[PassK, ...]:
    if trials == 1:
        return ()
    return tuple(
        PassK(k=k, tasks=sum(len(row) >= k for row in successes), rate=pass_k(successes, k))
        for k in range(1, trials + 1)
    )


def mode_delta(cells: Cells, domain: Domain, lead: Metric) -> ModeDelta:
    """Return the second mode's results minus the first mode's results, over the dialogues scored in both modes."""
    base, mode = domain.modes[:2]
    values = cells.clusters(_difference(lambda each, m: value(each, m, lead), mode, base))
    successes = cells.clusters(_difference(success, mode, base))
    return ModeDelta(
        mode=mode,
        base=base,
        cells=sum(map(len, values)),
        differing=sum(each != 0 for row in values for each in row),
        value=mean_interval(values, bounds=(-1.0, 1.0)),
        success_rate=mean_interval(successes, bounds=(-1.0, 1.0)) if domain.success else None,
    )


def _difference(
    measure: Callable[[DialogueStats, str], float | None], mode: str, base: str
) -> Callable[[DialogueStats], float | None]:
    def difference(dialogue: DialogueStats) -> float | None:
        one, other = measure(dialogue, mode), measure(dialogue, base)
        return None if one is None or other is None else one - other

    return difference


def distribution(cells: Cells, mode: str, lead: Metric) -> tuple[int, ...]:
    """Return an 11-bin histogram of the scores in steps of 0.1.

    The first bin contains only scores of 0 and below. The last bin contains only scores of 1 and above.
    """
    counts = [0] * 11
    for row in cells.clusters(lambda each: value(each, mode, lead)):
        for each in row:
            counts[_tenth(each)] += 1
    return tuple(counts)


def _tenth(share: float) -> int:
    if share <= 0 or share >= 1:
        return 0 if share <= 0 else 10
    return min(max(round(share * 10), 1), 9)


def by_turn(
    cells: Cells, mode: str, turns: int, domain: Domain, lead: Metric
) -> tuple[Budget, ...]:
    """Return the results by the end of each turn from 1 to `turns`; an answer given later does not count."""
    shown = domain.pictured or any(each.turns_scored for each in cells.dialogues)
    return tuple(
        Budget(
            turn=turn,
            success_rate=_success_by(cells, mode, turn) if domain.success else None,
            answered=_answered_by(cells, mode, turn, lead),
            value=_value_by(cells, turn, lead) if shown else None,
        )
        for turn in range(1, turns + 1)
    )


def _success_by(cells: Cells, mode: str, turn: int) -> Interval:
    def succeeded(dialogue: DialogueStats) -> bool | None:
        verdict = success(dialogue, mode)
        return None if verdict is None else verdict and dialogue.turns <= turn

    return mean_interval(cells.clusters(succeeded))


def _answered_by(cells: Cells, mode: str, turn: int, lead: Metric) -> float | None:
    def answered(dialogue: DialogueStats) -> bool | None:
        if value(dialogue, mode, lead) is None:
            return None
        return dialogue.ended_by == "answer" and dialogue.turns <= turn

    means = [sum(row) / len(row) for row in cells.clusters(answered) if row]
    return sum(means) / len(means) if means else None


def _value_by(cells: Cells, turn: int, lead: Metric) -> Interval | None:
    values = cells.clusters(lambda each: value_at(each, turn, lead))
    return mean_interval(values, lead.bounds) if any(values) else None
