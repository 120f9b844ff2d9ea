"""Other runs for comparison: a baseline for the win rate, and a ceiling, in which the agent was told everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.domain import Domain, Metric
from colbench.errors import UserError
from colbench.report.cells import Cells, leading_metric, success, value
from colbench.report.dialogue_stats import DialogueStats, Measurer
from colbench.report.model import Ceiling, WinRate
from colbench.rollout import Rollout
from colbench.rollout_file import latest_rollouts
from colbench.run_folder import RunFolder
from colbench.stats import Interval, mean_interval, win_rate
from colbench.stats.comparison import EPSILON
from colbench.task import Task

DIFFERENT = (
    "the two runs were measured differently: this run with {mine}, the baseline with {theirs}"
)


class Baseline(Struct, frozen=True, kw_only=True):
    """A run with which a report compares its own run."""

    source: str
    """The baseline's path, as given by the user."""
    agent: str
    """The baseline's agent; empty for a file of rollouts, which does not name the agent."""
    dialogues: Mapping[str, Sequence[DialogueStats]]
    """Dialogues by the hash of their task."""

    def require(self, tasks: Iterable[Task], flag: str = "--baseline") -> None:
        """Raise UserError if the baseline has none of these tasks; `flag` is the flag that sets the baseline."""
        if not any(self.of(tasks)):
            raise UserError(
                f"{flag} {self.source}: shares no task with this run; use a run on the same tasks"
            )

    def of(self, tasks: Iterable[Task]) -> list[Sequence[DialogueStats]]:
        """Return the baseline's dialogues on each of these tasks; tasks are identified by their hash."""
        return [self.dialogues.get(task.hash, ()) for task in tasks]


class Others(Struct, frozen=True, kw_only=True):
    """The runs with which a report compares its own run."""

    baseline: Baseline | None = None
    ceiling: Baseline | None = None
    """A run whose first messages state every decision."""

    def require(self, tasks: Sequence[Task]) -> None:
        """Raise UserError if one of the runs has none of these tasks."""
        for flag, other in (("--baseline", self.baseline), ("--ceiling", self.ceiling)):
            if other:
                other.require(tasks, flag)


def read_baseline(source: str, flag: str = "--baseline") -> Baseline:
    """Return the run in `source`, a run folder or a rollout file; `flag` is the flag that the user set to `source`.

    Raises UserError if the file of rollouts is missing or has no dialogues. Raises DataError if the folder contains no
    run, or if a file is malformed.
    """
    path, agent = Path(source), ""
    if path.is_dir():
        folder = RunFolder(path)
        agent, path = folder.record().config.agent, folder.rollouts_path
    if not path.is_file():
        raise UserError(
            f"{flag} {source}: the file {path} does not exist; name the folder of a run that has dialogues, or a file "
            "of rollouts"
        )
    dialogues = by_task(latest_rollouts(path))
    if not dialogues:
        raise UserError(f"{flag} {source}: no rollouts found; use a run with dialogues")
    return Baseline(source=source, agent=agent, dialogues=dialogues)


def by_task(dialogues: Iterable[tuple[int, Rollout]]) -> dict[str, list[DialogueStats]]:
    """Measure dialogues one at a time. Return the statistics by task hash, sorted by position within each task."""
    found: dict[str, list[DialogueStats]] = {}
    measurer = Measurer()
    for place, rollout in dialogues:
        found.setdefault(rollout.task_hash, []).append(measurer.measure(rollout, place))
    return {task: sorted(each, key=lambda one: one.place) for task, each in found.items()}


def read_ceiling(source: str) -> Baseline:
    """Return the run in the folder `source`; the run must have been made with `--told all`.

    Raises UserError if `source` is not the folder of such a run. Raises DataError if a file of the run is malformed.
    """
    path = Path(source)
    if not path.is_dir() or RunFolder(path).record().config.told != "all":
        raise UserError(
            f"--ceiling {source}: not the folder of a run that was made with --told all"
        )
    return read_baseline(source, "--ceiling")


def load_others(config: RunConfig, tasks: Sequence[Task]) -> Others:
    """Read the runs that a configuration names for comparison.

    Raises UserError if one of the runs is missing, has no dialogues, or has none of these tasks, or if the ceiling is
    not a run with `--told all`. Raises DataError if a file of one of the runs is malformed.
    """
    others = Others(
        baseline=read_baseline(config.baseline) if config.baseline else None,
        ceiling=read_ceiling(config.ceiling) if config.ceiling else None,
    )
    others.require(tasks)
    return others


def ceiling(cells: Cells, other: Baseline, mode: str, lead: Metric) -> Ceiling | None:
    """Return this run's scores next to those of the run `other`, in which the agent was told everything.

    Both scores are means over the tasks that both runs have scored. Return None if the runs share no scored task.
    """
    theirs = replace(cells, grid=tuple(map(tuple, other.of(cells.tasks))))
    both = [
        bool(a and b)
        for a, b in zip(_values(cells, mode, lead), _values(theirs, mode, lead), strict=True)
    ]
    ours, told = _only(cells, both), _only(theirs, both)
    if not any(both):
        return None

    def mean(chosen: Cells) -> Interval:
        return mean_interval(_values(chosen, mode, lead), lead.bounds)

    def successes(chosen: Cells) -> Interval | None:
        rows = chosen.clusters(lambda each: success(each, mode))
        return mean_interval(rows) if any(rows) else None

    return Ceiling(
        run=other.source,
        tasks=sum(both),
        value=mean(told),
        success_rate=successes(told),
        own_value=mean(ours),
        own_success_rate=successes(ours),
    )


def _values(cells: Cells, mode: str, lead: Metric) -> list[list[float]]:
    return cells.clusters(lambda each: value(each, mode, lead))


def _only(cells: Cells, chosen: Sequence[bool]) -> Cells:
    grid = tuple(row for row, keep in zip(cells.grid, chosen, strict=True) if keep)
    tasks = tuple(task for task, keep in zip(cells.tasks, chosen, strict=True) if keep)
    return replace(cells, tasks=tasks, grid=grid)


def compare(domain: Domain, cells: Cells, baseline: Baseline, mode: str) -> WinRate | None:
    """Return the win rate over the baseline in one domain; None if the baseline has no dialogue on these tasks."""
    others = baseline.of(cells.tasks)
    mine, rest = cells.dialogues, [each for row in others for each in row]
    if not rest:
        return None
    lead, note = _measure(domain, mine, rest)
    fallback = lead is domain.fallback
    mode = domain.modes[0] if fallback else mode
    ours = cells.clusters(lambda each: value(each, mode, lead))
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
    domain: Domain, mine: Sequence[DialogueStats], theirs: Sequence[DialogueStats]
) -> tuple[Metric, str]:
    """Return the metric that compares the runs and, if that is the fallback metric, the reason for using it."""
    sides = {"this run": mine, "the baseline": theirs}
    lacking = [
        side for side, each in sides.items() if leading_metric(domain, each) is domain.fallback
    ]
    if lacking and domain.fallback:
        return domain.fallback, (
            f"the {domain.fallback.label} is compared because answers of {' and '.join(lacking)} "
            f"lack the {domain.primary.label}"
        )
    return domain.primary, ""


def _differences(
    mine: Sequence[DialogueStats], theirs: Sequence[DialogueStats], mode: str, *, fallback: bool
) -> str:
    """Return a text on how the measurements of the two runs differ; "" if they do not differ or are not known."""
    here, there = _ways(mine, mode, fallback=fallback), _ways(theirs, mode, fallback=fallback)
    if not here or not there or here == there:
        return ""
    return DIFFERENT.format(mine=" and ".join(sorted(here)), theirs=" and ".join(sorted(there)))


def _ways(dialogues: Sequence[DialogueStats], mode: str, *, fallback: bool) -> set[str]:
    """Return a text `SCORER (ENVIRONMENT)` for each recorded pair of a scorer and the environment in which it ran.

    With `fallback`, SCORER is only the scorer's name, because the scorer's details describe the primary metric, which
    is not compared.
    """
    scores = [each for one in dialogues if (each := one.scores.get(mode))]
    names = [s.scorer.partition(" ")[0] if fallback else s.scorer for s in scores]
    return {
        f"{name} ({score.environment})"
        for name, score in zip(names, scores, strict=True)
        if score.environment
    }
