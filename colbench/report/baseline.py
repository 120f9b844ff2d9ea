"""The win rate: on what share of the tasks this run scores higher than another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from colbench.config import RunConfig, ScoringMode
from colbench.errors import UserError
from colbench.report.cells import Cells, Lead, leading_measure, value
from colbench.report.model import WinRate
from colbench.rollout import Rollout, read_rollouts
from colbench.run_folder import RunFolder
from colbench.stats import win_rate
from colbench.task import Task

EPSILON = 0.001
"""Scores no further apart are a tie: a tenth of a point, the smallest difference that a report shows."""
DIFFERENT = (
    "the two runs were measured differently: this one with {mine}, the baseline with {theirs}"
)
LACKING = "the layout is compared, because pages of {side} lack the cosine"


class Baseline(Struct, frozen=True, kw_only=True):
    """Another run, for comparing with."""

    source: str
    """As given."""
    agent: str
    """Empty when a rollout file does not say."""
    rollouts: tuple[Rollout, ...]

    def require(self, tasks: Iterable[Task]) -> None:
        """Raise UserError when it has none of these tasks."""
        if not any(self.of(tasks)):
            raise UserError(
                f"--baseline {self.source}: has none of this run's tasks; name a run on the same tasks"
            )

    def of(self, tasks: Iterable[Task]) -> list[list[Rollout]]:
        """Its rollouts of each of these tasks; the same task is the one with the same hash."""
        by_hash: dict[str, list[Rollout]] = {}
        for rollout in self.rollouts:
            by_hash.setdefault(rollout.task_hash, []).append(rollout)
        return [by_hash.get(task.hash, []) for task in tasks]


def read_baseline(source: str) -> Baseline:
    """The run that a run folder or a rollout file holds.

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


def compare(
    tasks: Sequence[Task], cells: Cells, baseline: Baseline, mode: ScoringMode
) -> WinRate | None:
    """The win rate of the cells of these tasks of one domain; None when the baseline has none of them."""
    others, domain = baseline.of(tasks), tasks[0].domain
    mine, rest = cells.rollouts, [rollout for row in others for rollout in row]
    if not rest:
        return None
    lead, note = _measure(domain, mine, rest)
    mode = "default" if lead == "layout" else mode
    ours = cells.clusters(lambda rollout: value(rollout, mode, lead))
    yours = [[x for r in row if (x := value(r, mode, lead)) is not None] for row in others]
    return WinRate(
        baseline=baseline.source,
        agent=baseline.agent,
        measure=lead,
        epsilon=EPSILON,
        tasks=sum(bool(a and b) for a, b in zip(ours, yours, strict=True)),
        rate=win_rate(ours, yours, EPSILON),
        note="; ".join(each for each in (note, _differences(mine, rest, mode, lead)) if each),
    )


def _measure(domain: str, mine: Sequence[Rollout], theirs: Sequence[Rollout]) -> tuple[Lead, str]:
    """What both sides can be compared by, and why if it is not the cosine."""
    sides = {"this run": mine, "the baseline": theirs}
    lacking = [side for side, each in sides.items() if leading_measure(domain, each) == "layout"]
    if lacking:
        return "layout", LACKING.format(side=" and ".join(lacking))
    return leading_measure(domain, mine), ""


def _differences(
    mine: Sequence[Rollout], theirs: Sequence[Rollout], mode: ScoringMode, lead: Lead
) -> str:
    """How differently the two runs were measured, in words; empty if they were not."""
    here, there = _ways(mine, mode, lead), _ways(theirs, mode, lead)
    if not here or not there or here == there:
        return ""
    return DIFFERENT.format(mine=" and ".join(sorted(here)), theirs=" and ".join(sorted(there)))


def _ways(rollouts: Sequence[Rollout], mode: ScoringMode, lead: Lead) -> set[str]:
    """Scorers and where they ran; for the layout it does not matter which CLIP there was."""
    scores = [each for rollout in rollouts if (each := rollout.scores.get(mode))]
    names = [s.scorer.partition(" clip ")[0] if lead == "layout" else s.scorer for s in scores]
    return {
        f"{name} ({score.environment})"
        for name, score in zip(names, scores, strict=True)
        if score.environment
    }
