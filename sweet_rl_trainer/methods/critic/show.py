"""A diagnosis as a human-readable table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from colbench.stats import Interval
from sweet_rl_trainer.methods.critic.best_of import DialogueCurve
from sweet_rl_trainer.methods.critic.correlation import Correlation
from sweet_rl_trainer.methods.critic.diagnose import DIAGNOSIS, Diagnosis, Part, decode
from sweet_rl_trainer.methods.critic.montecarlo import Agreement
from sweet_rl_trainer.methods.critic.states import Preference
from sweet_rl_trainer.pipeline.view import Table, View

Line = tuple[str, str, str]
"""The name of a measure, its value and a note."""
NAMES: dict[Part, str] = {
    "accuracy": "pair accuracy",
    "candidates": "candidates",
    "best_of": "best of n dialogues",
    "states": "everything known",
    "continuations": "Monte-Carlo continuations",
}


def view(folder: Path) -> View:
    """Return the table of the critic's diagnosis in a stage's folder, as a view for the page."""
    return View(tables=(table(decode((folder / DIAGNOSIS).read_bytes())),))


def table(diagnosis: Diagnosis) -> Table:
    """Return a diagnosis as a table."""
    head = ("critic, held-out tasks", "value", "95% interval or sample")
    return Table(head=head, rows=tuple(_lines(diagnosis)))


def _lines(diagnosis: Diagnosis) -> Iterator[Line]:
    accuracy = diagnosis.accuracy
    yield "pair accuracy", _share(accuracy), f"{_range(accuracy)}; {diagnosis.pairs} pairs"
    yield _correlated("score and turns", diagnosis.by_turns, "dialogues")
    yield _correlated("score and length", diagnosis.by_length, "dialogues")
    length = diagnosis.candidates_by_length
    yield _correlated("score and length in a turn", length, "candidates")
    if diagnosis.best_of:
        yield from _curve(diagnosis.best_of)
    if diagnosis.states:
        yield from _states(diagnosis.states)
    if diagnosis.continuations:
        yield from _continuations(diagnosis.continuations)
    for part, why in diagnosis.missing.items():
        yield NAMES[part], "–", f"not measured: {why}"


def _curve(found: DialogueCurve) -> Iterator[Line]:
    for each in found.curve:
        note = f"{_range(each.reward)}; {found.tasks} tasks"
        yield f"reward of the best of {each.count}", _share(each.reward), note


def _states(found: Preference) -> Iterator[Line]:
    note = f"{found.states} states of {found.tasks} tasks"
    yield (
        "all known: questions preferred to answer",
        _share(found.mean),
        f"{_range(found.mean)}; {note}",
    )
    yield "all known: best question preferred to answer", _share(found.best), _range(found.best)
    scores = f"{found.answer:.3g}; {found.question:.3g}"
    yield "all known: mean scores", scores, "right answer; question"


def _continuations(found: Agreement) -> Iterator[Line]:
    note = f"{found.candidates} candidates, {found.turns} turns with different returns"
    yield "agrees with returns", _share(found.pairwise), f"{_range(found.pairwise)}; {note}"
    rank = "–" if found.spearman.mean is None else f"{found.spearman.mean:+.2f}"
    yield "rank correlation with returns", rank, _range(found.spearman, "+.2f")


def _correlated(name: str, found: Correlation, what: str) -> Line:
    known = " / ".join(
        "–" if each is None else f"{each:+.2f}" for each in (found.pearson, found.spearman)
    )
    return name, known, f"Pearson / Spearman; {found.count} {what}"


def _share(found: Interval) -> str:
    return "–" if found.mean is None else f"{100 * found.mean:.1f}%"


def _range(found: Interval, form: str = "") -> str:
    if found.low is None or found.high is None:
        return "no interval"
    if form:
        return f"{found.low:{form}} to {found.high:{form}}"
    return f"{100 * found.low:.1f} to {100 * found.high:.1f}%"
