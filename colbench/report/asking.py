"""Measures of a run's questions, and the classes of its failed dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from colbench.asking.failure_class import FAILURE_CLASSES
from colbench.asking.measures import FOLLOWED, MEASURES, Measure, followed_shares
from colbench.domain import Metric
from colbench.report.baseline import Baseline
from colbench.report.cells import Cells, success, value
from colbench.report.dialogue_stats import NEVER, DialogueStats, Judged
from colbench.report.dialogues import REASONS
from colbench.report.model import (
    AskingReport,
    DecisionReport,
    FailedReport,
    FollowedReport,
    Reason,
)
from colbench.rollout import Asking
from colbench.stats import Interval, mean, mean_interval
from colbench.task import Task


def asking_report(
    cells: Cells,
    *,
    turns: int,
    mode: str,
    lead: Metric,
    baseline: Baseline | None,
) -> AskingReport | None:
    """Return the measures of a run's questions; None if no dialogue has such measures.

    `turns`: number of turns of the longest dialogue.
    """
    known = cells.keep(lambda each: each.asking is not None)
    dialogues = known.dialogues
    if not dialogues:
        return None
    return AskingReport(
        dialogues=len(dialogues),
        estimated=any(each.asking is not None and each.asking.estimated for each in dialogues),
        metrics={each.metric.name: _mean(known, each) for each in MEASURES},
        gain_per_question=_mean_gain(known, mode, lead, baseline),
        recall_by_turn=_recall_by_turn(known, turns),
        decisions=_decisions(known),
    )


def _mean(cells: Cells, measure: Measure) -> Interval:
    def taken(dialogue: DialogueStats) -> float | None:
        return measure.take(dialogue.asking) if dialogue.asking else None

    return mean_interval(cells.clusters(taken), measure.metric.bounds)


def _mean_gain(cells: Cells, mode: str, lead: Metric, baseline: Baseline | None) -> Interval | None:
    unasked = unasked_values(cells.tasks, baseline, mode, lead)
    rows = zip(cells.tasks, cells.grid, strict=True)
    gains = [
        [
            gain
            for each in row
            if each
            and (gain := gain_per_question(each, unasked.get(task.hash), mode, lead)) is not None
        ]
        for task, row in rows
    ]
    return mean_interval(gains, (-1.0, 1.0)) if any(gains) else None


def unasked_values(
    tasks: Sequence[Task], baseline: Baseline | None, mode: str, lead: Metric
) -> dict[str, float]:
    """Return, by task hash, the mean score over the trials of a baseline that asks no questions.

    The result is empty if `baseline` is None, or if the baseline asked a question.
    """
    rows = baseline.of(tasks) if baseline else []
    if any(each.questions for row in rows for each in row):
        return {}
    values = ([x for each in row if (x := value(each, mode, lead)) is not None] for row in rows)
    return {task.hash: mean(row) for task, row in zip(tasks, values, strict=False) if row}


def gain_per_question(
    dialogue: Judged, unasked: float | None, mode: str, lead: Metric
) -> float | None:
    """Return the gain in score of a dialogue per question that the agent asked.

    The gain is the score minus `unasked`, the score without questions on the same task (`unasked_values`). The result
    is None if either score or the number of questions is unknown, or if nothing was asked.
    """
    worth, asking = value(dialogue, mode, lead), dialogue.asking
    if worth is None or unasked is None or asking is None or not asking.questions:
        return None
    return (worth - unasked) / asking.questions


def _recall_by_turn(cells: Cells, turns: int) -> tuple[float, ...]:
    """Return, for each turn, the share of hidden decisions revealed so far: the mean over trials, then over tasks."""
    if not any(each.hidden for each in cells.dialogues):
        return ()
    return tuple(_recall_at(cells, turn) for turn in range(turns))


def _recall_at(cells: Cells, turn: int) -> float:
    def revealed(dialogue: DialogueStats) -> float | None:
        hidden = len(dialogue.hidden)
        return sum(told <= turn for told in dialogue.told_at) / hidden if hidden else None

    return mean([mean(row) for row in cells.clusters(revealed) if row])


def _decisions(cells: Cells) -> tuple[DecisionReport, ...]:
    """Return counts for each decision of each family, the least asked first; ignore tasks without a family."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for task, row in zip(cells.tasks, cells.grid, strict=True):
        for each in row if task.family else ():
            if each and each.asking:
                _count_decisions(task.family, each, each.asking, counts)
    rows = [
        DecisionReport(family=family, decision=name, **found)
        for (family, name), found in counts.items()
    ]
    return tuple(sorted(rows, key=_rarity))


def _rarity(row: DecisionReport) -> tuple[float, int, str, str]:
    return row.asked / row.hidden, -row.hidden, row.family, row.decision


def _count_decisions(
    family: str,
    dialogue: DialogueStats,
    asking: Asking,
    counts: dict[tuple[str, str], Counter[str]],
) -> None:
    """Add the hidden decisions of one dialogue to the counts by family and decision."""
    told = dialogue.told_at
    for name, asked, turn in zip(dialogue.hidden, dialogue.asked, told, strict=True):
        marks = {
            "hidden": True,
            "asked": asked,
            "told": turn != NEVER,
            "guessed": name in asking.guessed,
            "ignored": name in asking.ignored,
        }
        found = counts.setdefault((family, name), Counter())
        found.update({mark: int(holds) for mark, holds in marks.items()})


def followed_report(cells: Cells) -> FollowedReport | None:
    """Return what the agent did about the differences that the human pointed out; None without such differences."""
    known = [each.followed for each in cells.dialogues if each.followed]
    if not known:
        return None

    def share(name: str) -> Interval:
        return mean_interval(cells.clusters(lambda each: followed_shares(each.followed)[name]))

    return FollowedReport(
        dialogues=len(known),
        differences=sum(each.pointed_out for each in known),
        metrics={metric.name: share(metric.name) for metric in FOLLOWED},
    )


def failed_report(cells: Cells, mode: str) -> FailedReport:
    """Count the failed dialogues by failure class, overall and for each family."""
    classes: Counter[str] = Counter()
    by_family: dict[str, Counter[str]] = {}
    scored: Counter[str] = Counter()
    for task, row in zip(cells.tasks, cells.grid, strict=True):
        for each in filter(None, row):
            scored[task.family] += success(each, mode) is not None
            if found := each.failure_class(mode):
                classes[found] += 1
                by_family.setdefault(task.family, Counter())[found] += 1
    return FailedReport(
        classes=_ordered(classes),
        families={name: _ordered(by_family[name]) for name in sorted(by_family) if name},
        scored={name: scored[name] for name in sorted(scored) if name},
        errors=tuple(_errors(cells.dialogues, mode)),
    )


def _errors(dialogues: Sequence[DialogueStats], mode: str) -> Iterator[Reason]:
    """Yield the most frequent error types of crashed answers, each represented by the type's most frequent message."""
    types: Counter[str] = Counter()
    errors: Counter[str] = Counter(each.errors[mode] for each in dialogues if each.errors.get(mode))
    examples: dict[str, str] = {}
    for error, number in errors.most_common():
        name = error.partition(":")[0]
        types[name] += number
        examples.setdefault(name, error)
    for name, number in types.most_common(REASONS):
        yield Reason(reason=examples[name], count=number)


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in FAILURE_CLASSES if counts.get(name)}
