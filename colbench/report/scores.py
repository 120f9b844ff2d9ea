"""What the agent scored: rates, pass^k, the delta between scoring modes, the scores by turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from colbench.config import ScoringMode
from colbench.report.cells import Cells, Lead, agent_failed, success, unjudged, value
from colbench.report.frontend import metrics_taken, value_at
from colbench.report.model import Budget, ModeDelta, ModeReport, PassK, Rates
from colbench.rollout import Rollout
from colbench.stats import Interval, mean_interval, pass_k

MODES: tuple[ScoringMode, ...] = ("default", "official")
SIGNED = {"cosine", "cosine_page", "ssim"}
"""Measures that may be as low as -1."""
Clusters = Sequence[Sequence[float]]


def modes(cells: Cells, wanted: ScoringMode, lead: Lead) -> list[ScoringMode]:
    """The modes with verdicts, the wanted one first, or the one that there is: only the cosine has two.

    Where nothing was scored at all it is the wanted one.
    """
    verdicts = [(mode, each) for rollout in cells.rollouts for mode, each in rollout.scores.items()]
    used = {mode for mode, score in verdicts if lead == "tests_passed" or lead in score.metrics}
    first = wanted if wanted in used or not used or lead == "tests_passed" else MODES[0]
    return [first, *(mode for mode in MODES if mode in used and mode != first)]


def scorers(rollouts: Iterable[Rollout], mode: ScoringMode) -> dict[str, int]:
    """How many verdicts of a mode each scorer gave; failures of agents have none."""
    return dict(
        Counter(
            score.scorer
            for rollout in rollouts
            if (score := rollout.scores.get(mode)) and not agent_failed(rollout)
        )
    )


def mode_report(cells: Cells, mode: ScoringMode, lead: Lead) -> ModeReport:
    """The verdicts of one mode."""
    values = cells.clusters(lambda rollout: value(rollout, mode, lead))
    successes = cells.clusters(lambda rollout: success(rollout, mode))
    scored = sum(map(len, values))
    due = [sum(not (each and unjudged(each, mode, lead)) for each in row) for row in cells.grid]
    as_zero = rates(lead, _fill(values, due), _fill(successes, due))
    return ModeReport(
        scored=scored,
        unscored=sum(due) - scored,
        unscored_as_zero=Rates(**as_zero) if scored < sum(due) else None,
        pass_k=_pass_k(successes, cells.trials) if lead == "tests_passed" else (),
        metrics={
            name: _mean_of(name, cells.clusters(lambda r, name=name: value(r, mode, name)))  # type: ignore[misc]
            for name in metrics_taken(cells.rollouts, mode, lead)
        },
        **rates(lead, values, successes),
    )


def rates(lead: Lead, values: Clusters, successes: Clusters) -> dict[str, Interval]:
    """The fields of `Rates`, from values and successes by task. Pages do not succeed or fail."""
    counted = successes if lead == "tests_passed" else ()
    return {"success_rate": mean_interval(counted), lead: _mean_of(lead, values)}


def _mean_of(measure: str, values: Clusters) -> Interval:
    return mean_interval(values, bounds=(-1.0 if measure in SIGNED else 0.0, 1.0))


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


def mode_delta(cells: Cells, mode: ScoringMode, base: ScoringMode, lead: Lead) -> ModeDelta:
    """How far `mode` is from `base`, over the cells that both have scored."""
    values = cells.clusters(_difference(lambda rollout, m: value(rollout, m, lead), mode, base))
    successes = cells.clusters(_difference(success, mode, base))
    return ModeDelta(
        mode=mode,
        base=base,
        cells=sum(map(len, values)),
        differing=sum(each != 0 for row in values for each in row),
        value=mean_interval(values, bounds=(-1.0, 1.0)),
        success_rate=mean_interval(successes, bounds=(-1.0, 1.0)),
    )


def _difference(
    measure: Callable[[Rollout, ScoringMode], float | None], mode: ScoringMode, base: ScoringMode
) -> Callable[[Rollout], float | None]:
    def difference(rollout: Rollout) -> float | None:
        one, other = measure(rollout, mode), measure(rollout, base)
        return None if one is None or other is None else one - other

    return difference


def distribution(cells: Cells, mode: ScoringMode, lead: Lead) -> tuple[int, ...]:
    """Scored cells by value in tenths; only 0 and 1 themselves are at the ends. Shape (11,)."""
    counts = [0] * 11
    for row in cells.clusters(lambda rollout: value(rollout, mode, lead)):
        for each in row:
            counts[_tenth(each)] += 1
    return tuple(counts)


def _tenth(share: float) -> int:
    if share <= 0 or share >= 1:
        return 0 if share <= 0 else 10
    return min(max(round(share * 10), 1), 9)


def by_turn(cells: Cells, mode: ScoringMode, max_turns: int, lead: Lead) -> tuple[Budget, ...]:
    """The scores as a function of the turns allowed; an answer counts for budgets from its turn on."""
    return tuple(_budget(cells, mode, turn, lead) for turn in range(1, max_turns + 1))


def _budget(cells: Cells, mode: ScoringMode, turn: int, lead: Lead) -> Budget:
    def succeeded(rollout: Rollout) -> bool | None:
        verdict = success(rollout, mode)
        return None if verdict is None else verdict and len(rollout.turns) <= turn

    def answered(rollout: Rollout) -> bool | None:
        if value(rollout, mode, lead) is None:
            return None
        return rollout.ended_by == "answer" and len(rollout.turns) <= turn

    by_page = lead != "tests_passed"
    pages = cells.clusters(lambda rollout: value_at(rollout, turn, lead)) if by_page else []
    return Budget(
        turn=turn,
        success_rate=mean_interval(cells.clusters(succeeded)),
        answered=_mean(cells.clusters(answered)),
        value=_mean_of(lead, pages) if any(pages) else None,
    )


def _mean(clusters: Clusters) -> float | None:
    means = [sum(row) / len(row) for row in clusters if row]
    return sum(means) / len(means) if means else None
