"""The asking of a run and the classes of its failed dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from colbench.asking.failure_class import FAILURE_CLASSES, failure_class
from colbench.asking.measures import FOLLOWED, MEASURES, Measure, followed_shares
from colbench.domain import Metric
from colbench.registry import get_domain
from colbench.report.baseline import Baseline
from colbench.report.cells import Cells, value
from colbench.report.model import AskingReport, DecisionReport, FailedReport, FollowedReport
from colbench.rollout import Rollout
from colbench.stats import Interval, mean_interval
from colbench.task import Task


class _Known(Struct, frozen=True):
    """A dialogue whose asking is known, with its task."""

    task: Task
    rollout: Rollout

    @property
    def hidden(self) -> list[str]:
        """Names of the decisions that the request does not state."""
        decisions = get_domain(self.task.domain).decisions(self.task)
        return [
            fact.name
            for fact in decisions
            if not fact.stated and fact.statement not in self.rollout.request
        ]

    def told_at(self, number: int) -> set[str]:
        """Return the hidden decisions that were told in a turn, counted from 0."""
        turns = self.rollout.turns
        return set(self.hidden).intersection(
            turns[number].told or () if number < len(turns) else ()
        )


def asking_report(
    cells: Cells,
    *,
    max_turns: int,
    mode: str,
    lead: Metric,
    baseline: Baseline | None,
) -> AskingReport | None:
    """Return what the questions of a run were worth; None if no dialogue tells."""
    known = cells.keep(lambda rollout: rollout.asking is not None)
    rollouts = known.rollouts
    if not rollouts:
        return None
    by_id = {task.id: task for task in cells.tasks}
    dialogues = [_Known(by_id[rollout.task_id], rollout) for rollout in rollouts]
    return AskingReport(
        dialogues=len(rollouts),
        estimated=any(each.asking is not None and each.asking.estimated for each in rollouts),
        metrics={each.metric.name: _mean(known, each) for each in MEASURES},
        gain_per_question=_gain(known, mode, lead, baseline) if baseline else None,
        recall_by_turn=_recall_by_turn(dialogues, max_turns),
        decisions=_decisions(dialogues),
    )


def _mean(cells: Cells, measure: Measure) -> Interval:
    def taken(rollout: Rollout) -> float | None:
        return measure.take(rollout.asking) if rollout.asking else None

    return mean_interval(cells.clusters(taken), measure.metric.bounds)


def _gain(cells: Cells, mode: str, lead: Metric, baseline: Baseline) -> Interval | None:
    """Return how much more a dialogue is worth than one without questions, for each question that it asked.

    None if the baseline asked something: then it does not tell what asking nothing is worth.
    """
    without = baseline.of(cells.tasks)
    if any(turn.human is not None for row in without for each in row for turn in each.turns):
        return None
    gains: list[list[float]] = []
    for row, others in zip(cells.grid, without, strict=True):
        worth = [found for each in others if (found := value(each, mode, lead)) is not None]
        gains.append([])
        for each in row:
            mine = value(each, mode, lead) if each else None
            if each and each.asking and each.asking.questions and mine is not None and worth:
                gains[-1].append((mine - sum(worth) / len(worth)) / each.asking.questions)
    return mean_interval(gains, (-1.0, 1.0)) if any(gains) else None


def _recall_by_turn(dialogues: Sequence[_Known], max_turns: int) -> tuple[float, ...]:
    """Return the share of the hidden decisions that had been told after turn 1, 2, …, as a mean over dialogues."""
    counted = [each for each in dialogues if each.hidden]
    shares = [0.0] * max_turns
    for each in counted:
        told: set[str] = set()
        for number in range(max_turns):
            told.update(each.told_at(number))
            shares[number] += len(told) / len(each.hidden)
    return tuple(share / len(counted) for share in shares) if counted else ()


def _decisions(dialogues: Iterable[_Known]) -> tuple[DecisionReport, ...]:
    """Count by family and decision, those that are asked for most rarely first; tasks of no family are left out."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in dialogues:
        asking = each.rollout.asking
        if not each.task.family or asking is None:
            continue
        asked = {name for turn in each.rollout.turns for name in turn.asked or ()}
        told = {name for turn in each.rollout.turns for name in turn.told or ()}
        for name in each.hidden:
            found = counts.setdefault((each.task.family, name), Counter())
            marks = {
                "hidden": True,
                "asked": name in asked,
                "told": name in told,
                "guessed": name in asking.guessed,
                "ignored": name in asking.ignored,
            }
            found.update({mark: int(holds) for mark, holds in marks.items()})
    rows = [
        DecisionReport(family=family, decision=name, **found)
        for (family, name), found in counts.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.asked / row.hidden, row.family, row.decision)))


def followed_report(cells: Cells) -> FollowedReport | None:
    """Return what became of the differences that the human pointed out; None if no dialogue tells."""
    known = [found for rollout in cells.rollouts if (found := rollout.followed)]
    if not known:
        return None

    def mean(name: str) -> Interval:
        return mean_interval(cells.clusters(lambda each: followed_shares(each.followed)[name]))

    return FollowedReport(
        dialogues=len(known),
        differences=sum(each.pointed_out for each in known),
        metrics={metric.name: mean(metric.name) for metric in FOLLOWED},
    )


def failed_report(cells: Cells, mode: str) -> FailedReport:
    """Count the failed dialogues by class, and by family and class."""
    families = {task.id: task.family for task in cells.tasks}
    classes: Counter[str] = Counter()
    by_family: dict[str, Counter[str]] = {}
    for rollout in cells.rollouts:
        if found := failure_class(rollout, mode):
            classes[found] += 1
            by_family.setdefault(families.get(rollout.task_id, ""), Counter())[found] += 1
    return FailedReport(
        classes=_ordered(classes),
        families={name: _ordered(by_family[name]) for name in sorted(by_family) if name},
    )


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in FAILURE_CLASSES if counts.get(name)}
