"""The data behind the page's table of tasks: a small index, and the dialogues packed in blocks.

The index is read when the page loads; a block is unpacked when one of its tasks is opened, so thousands of dialogues
add only their compressed size to the page.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import msgspec

from colbench.asking.untold import untold_decisions
from colbench.domain import Domain, Metric
from colbench.numbers import measure
from colbench.presentation import ReportPages
from colbench.report.cells import Cells, success, value
from colbench.report.dialogue_stats import DialogueStats
from colbench.report.facts import differs
from colbench.report.model import DomainReport
from colbench.report.verdicts import metric_of
from colbench.rollout import Rollout, Turn
from colbench.rollout_file import RolloutReader
from colbench.score import Score
from colbench.task import Task

BLOCK = 40
"""Number of tasks packed together."""
REQUEST = 200
"""Maximum number of characters of a task's request in the table, where it is displayed and can be searched."""
LONGEST = 100_000
"""Maximum number of characters of any one text on the page; the rest is left out."""


def index(
    cells: Cells,
    domain: Domain,
    report: DomainReport,
    pages: ReportPages | None,
) -> dict[str, Any]:
    """Return the content of the table of tasks, with one entry for each task."""
    lead = _leading(domain, report)
    addresses = pages.addresses if pages else {}
    return {
        "mode": report.mode,
        "modes": list(report.modes),
        "differ": differs(report),
        "asking": report.asking is not None,
        "measure": lead.label,
        "success": domain.success is not None,
        "noun": domain.noun,
        "language": domain.language,
        "pages": pages.name if pages else None,
        "block": BLOCK,
        "tasks": [
            {
                "id": task.id,
                "request": task.request[:REQUEST],
                "family": task.family,
                "trials": [_line(each, report, lead) for each in row],
                "page": addresses.get(task.id),
            }
            for task, row in zip(cells.tasks, cells.grid, strict=True)
        ],
    }


def _leading(domain: Domain, report: DomainReport) -> Metric:
    return domain.metric(report.lead) or domain.primary


def _line(
    dialogue: DialogueStats | None, report: DomainReport, lead: Metric
) -> dict[str, Any] | None:
    if dialogue is None:
        return None
    return {
        "values": [value(dialogue, mode, lead) for mode in report.modes],
        "success": success(dialogue, report.mode),
        "class": dialogue.failure_class(report.mode),
        "told": dialogue.asking and [dialogue.asking.told, dialogue.asking.hidden],
        "turns": dialogue.turns,
        "words": dialogue.human_words,
        "ended": dialogue.ended_by,
        "failed": dialogue.failure.boundary if dialogue.failure else None,
    }


def blocks(
    cells: Cells, domain: Domain, report: DomainReport, dialogues: RolloutReader
) -> Iterator[str]:
    """Yield the tasks with their dialogues, `BLOCK` tasks at a time, as gzipped JSON in base64."""
    pack = _Packer(domain, _leading(domain, report))
    for start in range(0, len(cells.tasks), BLOCK):
        chosen = slice(start, start + BLOCK)
        rows = zip(cells.tasks[chosen], cells.grid[chosen], strict=True)
        yield _packed(
            pack.task(task, (dialogues.at(each.place) if each else None for each in row))
            for task, row in rows
        )


def _packed(items: Iterable[object]) -> str:
    """Return a list as gzipped JSON in base64. Only one item at a time is in memory uncompressed."""
    packed = BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for number, item in enumerate(items):
            file.write(b"," if number else b"[")
            file.write(msgspec.json.encode(item))
        file.write(b"]")
    return b64encode(packed.getvalue()).decode("ascii")


class _Packer:
    """A builder of the page's data on tasks and dialogues; `lead` is the metric that is shown as the value."""

    def __init__(self, domain: Domain, lead: Metric) -> None:
        self._domain = domain
        self._lead = lead

    def task(self, task: Task, row: Iterable[Rollout | None]) -> dict[str, Any]:
        hidden = task.hidden
        same = hidden.information == hidden.reference
        return {
            "request": _cut(task.request),
            "reference": _cut(hidden.reference),
            "information": "" if same else _cut(hidden.information),
            "trials": [rollout and self._dialogue(task, rollout) for rollout in row],
        }

    def _dialogue(self, task: Task, rollout: Rollout) -> msgspec.Raw:
        """Return a dialogue, encoded immediately because its objects take several times as much memory."""
        asking = rollout.asking
        found = {
            "turns": [self._turn(turn) for turn in rollout.turns],
            "answer": None if rollout.answer is None else _cut(rollout.answer),
            "ended": rollout.ended_by,
            "failure": rollout.failure,
            "seconds": rollout.seconds,
            "untold": untold_decisions(task, rollout),
            "guessed": asking.guessed if asking else [],
            "ignored": asking.ignored if asking else [],
            "scores": {mode: self._score(rollout, mode) for mode in rollout.scores},
        }
        return msgspec.Raw(msgspec.json.encode(found))

    def _turn(self, turn: Turn) -> dict[str, Any]:
        return {
            "private": _cut(turn.private),
            "said": _cut(turn.said),
            "human": turn.human and _cut(turn.human),
            "asked": turn.asked or [],
            "told": turn.told or [],
            "leak": turn.leak,
            "metrics": self._metrics(turn.score) if turn.score else None,
        }

    def _score(self, rollout: Rollout, mode: str) -> dict[str, Any]:
        score = rollout.scores[mode]
        checks = [[c.call, c.outcome, c.expected, c.actual] for c in score.checks]
        return {
            "value": value(rollout, mode, self._lead),
            "success": score.success,
            "note": score.note,
            "environment": score.environment,
            "scorer": score.scorer,
            "metrics": self._metrics(score),
            "checks": [[_cut(text) for text in check] for check in checks],
        }

    def _metrics(self, score: Score) -> list[tuple[str, float | str]]:
        """Return the labels and values of a verdict's metrics, the domain's metrics first.

        Shares are returned as numbers, and other values as text.
        """
        own = [metric.name for metric in self._domain.metrics]
        names = [name for name in dict.fromkeys([*own, *score.metrics]) if name in score.metrics]
        found = ((metric_of(self._domain, name), score.metrics[name]) for name in names)
        return [(m.label, v if m.unit == "%" else measure(v, m.unit)) for m, v in found]


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters are left out]"
