"""Failed dialogues on the page: their classes and families, and the decisions that were not always asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from colbench.asking.measures import FOLLOWED
from colbench.numbers import count, percent
from colbench.report.failed_facts import (
    CLASS_NOTES,
    class_note,
    frequent_error,
    rarely_asked,
)
from colbench.report.model import DecisionReport, DomainReport, FailedReport, FollowedReport
from colbench.task import Task
from colbench.web.charts import stacked_bar

FIRST = 6
"""Maximum number of families and decisions shown before the rest is collapsed."""


class ClassLine(Struct, frozen=True, kw_only=True):
    """The failed dialogues of one class."""

    name: str
    dialogues: int
    share: str
    """Share of all scored dialogues."""
    meaning: str


class FamilyLine(Struct, frozen=True, kw_only=True):
    """Outcomes of the dialogues on the tasks of one family."""

    name: str
    failed: int
    scored: int
    classes: str
    bar: Markup


class DecisionLine(Struct, frozen=True, kw_only=True):
    """One decision of a family, and how often it was asked for."""

    family: str
    name: str
    question: str
    """A question about the decision; empty if none is known."""
    asked: int
    hidden: int
    became: str
    """Outcomes of the decision in the answers."""


class FailureView(Struct, frozen=True, kw_only=True):
    """The failures of a run by class and family, and the decisions that were not always asked for."""

    summary: str
    bar: Markup
    classes: Sequence[ClassLine]
    families: Sequence[FamilyLine]
    decisions: Sequence[DecisionLine]
    errors: Sequence[str]
    """The most frequent error of the answers that crashed; empty if no error is known."""
    first: int = FIRST


class FollowedView(Struct, frozen=True, kw_only=True):
    """The differences that the human pointed out, by their outcome on the agent's next page."""

    summary: str
    bar: Markup
    parts: Sequence[tuple[str, str, str]]
    """Name, share and meaning of each part."""


def failure_view(report: DomainReport, tasks: Sequence[Task]) -> FailureView | None:
    """Return a run's failures, and the decisions that the agent did not ask about in every dialogue.

    Return None if the run has neither failures nor such decisions, or if the domain does not define success.
    """
    decisions = list(_decisions(report, tasks))
    failed = report.failed
    if failed is None or not (failed.classes or decisions):
        return None
    total = sum(failed.classes.values())
    succeeded = report.scored - total
    parts = [("succeeded", succeeded), *failed.classes.items(), ("unscored", report.unscored)]
    return FailureView(
        summary=_summary(failed, report.scored),
        bar=stacked_bar(", ".join(f"{name} {n:,}" for name, n in parts if n), parts),
        classes=[
            ClassLine(
                name=name,
                dialogues=n,
                share=percent(n / report.scored),
                meaning=class_note(report, name),
            )
            for name, n in sorted(failed.classes.items(), key=lambda item: -item[1])
        ],
        families=list(_families(failed)),
        decisions=decisions,
        errors=[f"{error.label}: {error.value} {error.note}" for error in frequent_error(report)],
    )


def _summary(failed: FailedReport, scored: int) -> str:
    if not failed.classes:
        return f"None of {count(scored, 'scored dialogue')} failed."
    total = sum(failed.classes.values())
    name, most = max(failed.classes.items(), key=lambda item: item[1])
    which = "All of them" if most == total else f"The most frequent reason ({most:,})"
    return f"{total:,} of {count(scored, 'scored dialogue')} failed. {which}: {CLASS_NOTES[name]}."


def _families(failed: FailedReport) -> Iterator[FamilyLine]:
    """Yield the families with a failed dialogue, the largest share of failures first."""
    lost = {name: sum(classes.values()) for name, classes in failed.families.items()}
    for name in sorted(lost, key=lambda name: (-lost[name] / failed.scored[name], -lost[name])):
        classes, scored = failed.families[name], failed.scored[name]
        text = ", ".join(f"{n:,} {each.replace('_', ' ')}" for each, n in classes.items())
        parts = [("succeeded", scored - lost[name]), *classes.items()]
        yield FamilyLine(
            name=name,
            failed=lost[name],
            scored=scored,
            classes=text,
            bar=stacked_bar(f"{name}: {text}", parts),
        )


def _decisions(report: DomainReport, tasks: Sequence[Task]) -> Iterator[DecisionLine]:
    """Yield the decisions that the agent did not ask for in at least one dialogue, the least asked first."""
    questions = _questions(tasks)
    for row in rarely_asked(report.asking):
        yield DecisionLine(
            family=row.family,
            name=row.decision.replace("_", " "),
            question=questions.get((row.family, row.decision), ""),
            asked=row.asked,
            hidden=row.hidden,
            became=_became(row),
        )


def _became(row: DecisionReport) -> str:
    counts = {"guessed right": row.guessed, "revealed but ignored": row.ignored}
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)


def _questions(tasks: Sequence[Task]) -> Mapping[tuple[str, str], str]:
    """Return an example question for each decision, by family and decision."""
    facts = {
        (task.family, fact.name): fact for task in reversed(tasks) for fact in task.hidden.facts
    }
    return {key: fact.examples[0] for key, fact in facts.items() if fact.examples}


def followed_view(followed: FollowedReport | None) -> FollowedView | None:
    """Return the outcomes of the differences that the human pointed out; None if these outcomes are unknown."""
    if followed is None:
        return None
    means = {metric: followed.metrics[metric.name].mean or 0.0 for metric in FOLLOWED}
    number = count(followed.differences, "difference")
    return FollowedView(
        summary=f"{number} pointed out by the human, in {count(followed.dialogues, 'dialogue')}; "
        "on the next page they were:",
        bar=stacked_bar(
            ", ".join(f"{metric.label} {percent(mean)}" for metric, mean in means.items()),
            [(metric.label, round(1000 * mean)) for metric, mean in means.items()],
        ),
        parts=[(metric.label, percent(mean), metric.description) for metric, mean in means.items()],
    )
