"""Facts about failed dialogues: why they failed, and which decisions were rarely asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from colbench.numbers import count
from colbench.report.fact import Fact
from colbench.report.model import AskingReport, DecisionReport, DomainReport

CLASS_NOTES = {
    "no_answer": "a blank answer, or no answer before the turn limit (then the last message is scored)",
    "crashed": "the agent failed, or its answer returned no value in any test",
    "guessed": "the agent answered while decisions were open",
    "ignored": "all decisions were revealed, but the answer contradicts at least one",
    "wrong_code": "all decisions were revealed (or are unknown), but the code is wrong",
}
RAREST = 5
"""Maximum number of rarely asked decisions to name."""
FEW_DIALOGUES = 5
"""Minimum number of dialogues in which a decision is hidden for the report to say how often it was asked for."""


def failed(report: DomainReport) -> Iterator[Fact]:
    """Yield the facts about failed dialogues: failure classes, errors, and decisions that were rarely asked for."""
    if report.failed is None:
        return
    for name, dialogues in report.failed.classes.items():
        note = class_note(report, name)
        yield Fact(label=name.replace("_", " "), value=f"{dialogues:,}", note=note)
    yield from frequent_error(report)
    if rare := rarely_asked(report.asking):
        yield rarest(rare[:RAREST])


def rarest(rows: Iterable[DecisionReport]) -> Fact:
    """Return the line of the report about rarely asked decisions, with the counts of dialogues.

    The line says in how many dialogues each decision was asked for, and in how many it was hidden.
    """
    named = (f"{row.family}: {row.decision} ({row.asked} of {row.hidden})" for row in rows)
    return Fact(label="rarely asked", value="", note=", ".join(named))


def class_note(report: DomainReport, name: str) -> str:
    """Return the meaning of a failure class; for "crashed", also the number of failures of each kind."""
    if name != "crashed":
        return CLASS_NOTES[name]
    answers = crashed_answers(report)
    failed = report.failed.classes[name] - answers if report.failed else 0
    return (
        f"the agent failed ({failed:,}), or its answer returned no value in any test ({answers:,})"
    )


def crashed_answers(report: DomainReport) -> int:
    """Return the number of answers that crashed; dialogues in which the agent itself failed are not counted."""
    agent = report.failures.get("agent")
    crashed = report.failed.classes.get("crashed", 0) if report.failed else 0
    return crashed - (agent.count if agent else 0)


def frequent_error(report: DomainReport) -> Iterator[Fact]:
    """Yield the most frequent error of the answers that crashed; nothing if no error is known."""
    for error in report.failed.errors[:1] if report.failed else ():
        note = f"of {count(crashed_answers(report), 'crashed answer')}, such as {error.reason}"
        yield Fact(label="most frequent error", value=f"{error.count:,}", note=note)


def rarely_asked(asking: AskingReport | None) -> list[DecisionReport]:
    """Return the decisions that were hidden but not asked for in some dialogue, the least asked for first.

    Decisions that were hidden in fewer than `FEW_DIALOGUES` dialogues are left out.
    """
    return [
        row
        for row in (asking.decisions if asking else ())
        if row.asked < row.hidden and row.hidden >= FEW_DIALOGUES
    ]
