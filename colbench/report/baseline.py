"""The win rate: the share of the tasks on which this run scores higher than another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.errors import UserError
from colbench.registry import get_domain
from colbench.report.cells import Cells, leading_metric, value
from colbench.report.model import WinRate
from colbench.rollout import Rollout, read_rollouts
from colbench.run_folder import RunFolder
from colbench.stats import win_rate
from colbench.stats.comparison import EPSILON
from colbench.task import Task

DIFFERENT = (
    "the two runs were measured differently: this one with {mine}, the baseline with {theirs}"
)


class Baseline(Struct, frozen=True, kw_only=True):
    """Another run, for comparing with."""

    source: str
    """As given."""
    agent: str
    """Empty when a rollout file does not say."""
    rollouts: tuple[Rollout, ...]

    def require(self, tasks: Iterable[Task]) -> None:
        """Raise UserError if it has none of these tasks."""
        if not any(self.of(tasks)):
            raise UserError(
                f"--baseline {self.source}: has none of this run's tasks; name a run on the same tasks"
            )

    def of(self, tasks: Iterable[Task]) -> list[list[Rollout]]:
        """Return its rollouts of each of these tasks; tasks are the same if their hashes are."""
        by_hash: dict[str, list[Rollout]] = {}
        for rollout in self.rollouts:
            by_hash.setdefault(rollout.task_hash, []).append(rollout)
        return [by_hash.get(task.hash, []) for task in tasks]


def read_baseline(source: str) -> Baseline:
    """Return the run that a run folder or a rollout file holds.

    Raises UserError when there is none, DataError when a file of it is malformed.
    """
    path, agent = Path(source), ""
    if path.is_dir():
        folder = RunFolder(path)
        agent, path = folder.record().config.agent, folder.rollouts_path
    if not path.is_file():
        raise UserError(f"--baseline {source}: is neither a run folder nor a file of rollouts")
    rollouts = read_rollouts(path)
    if not rollouts:
        raise UserError(f"--baseline {source}: holds no rollouts")
    return Baseline(source=source, agent=agent, rollouts=tuple(rollouts))


def load_baseline(config: RunConfig, tasks: Sequence[Task]) -> Baseline | None:
    """Read the run that the win rate is against; None if the configuration names none.

    Raises UserError if it cannot be read, or has none of these tasks.
    """
    if config.baseline is None:
        return None
    baseline = read_baseline(config.baseline)
    baseline.require(tasks)
    return baseline


def compare(tasks: Sequence[Task], cells: Cells, baseline: Baseline, mode: str) -> WinRate | None:
    """Return the win rate of the cells of these tasks of one domain; None when the baseline has none of them."""
    others, domain = baseline.of(tasks), get_domain(tasks[0].domain)
    mine, rest = cells.rollouts, [rollout for row in others for rollout in row]
    if not rest:
        return None
    lead, note = _measure(domain, mine, rest)
    fallback = lead is domain.fallback
    mode = domain.modes[0] if fallback else mode
    ours = cells.clusters(lambda rollout: value(rollout, mode, lead))
    yours = [[x for r in row if (x := value(r, mode, lead)) is not None] for row in others]
    differences = _differences(mine, rest, mode, fallback=fallback)
    return WinRate(
        baseline=baseline.source,
        agent=baseline.agent,
        measure=lead.name,
        epsilon=EPSILON,
        tasks=sum(bool(a and b) for a, b in zip(ours, yours, strict=True)),
        rate=win_rate(ours, yours, EPSILON),
        note="; ".join(each for each in (note, differences) if each),
    )


def _measure(
    domain: Domain, mine: Sequence[Rollout], theirs: Sequence[Rollout]
) -> tuple[Metric, str]:
    """Return the metric by which both sides can be compared, and why if it is the fallback."""
    sides = {"this run": mine, "the baseline": theirs}
    lacking = [
        side for side, each in sides.items() if leading_metric(domain, each) is domain.fallback
    ]
    if lacking and domain.fallback:
        return domain.fallback, (
            f"the {domain.fallback.label} is compared, because answers of {' and '.join(lacking)} "
            f"lack the {domain.primary.label}"
        )
    return domain.primary, ""


def _differences(
    mine: Sequence[Rollout], theirs: Sequence[Rollout], mode: str, *, fallback: bool
) -> str:
    """Describe how differently the two runs were measured; empty if they were not."""
    here, there = _ways(mine, mode, fallback=fallback), _ways(theirs, mode, fallback=fallback)
    if not here or not there or here == there:
        return ""
    return DIFFERENT.format(mine=" and ".join(sorted(here)), theirs=" and ".join(sorted(there)))


def _ways(rollouts: Sequence[Rollout], mode: str, *, fallback: bool) -> set[str]:
    """Return the scorers and where they ran. Words after a scorer's first concern only its primary metric."""
    scores = [each for rollout in rollouts if (each := rollout.scores.get(mode))]
    names = [s.scorer.partition(" ")[0] if fallback else s.scorer for s in scores]
    return {
        f"{name} ({score.environment})"
        for name, score in zip(names, scores, strict=True)
        if score.environment
    }
