"""The data behind the page's table of tasks: a small index, and the dialogues packed in blocks.

The index is read when the page loads; a block is unpacked when one of its tasks is opened, so that thousands of
dialogues cost the page no more than their compressed size.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from colbench.messages import PUBLIC_MARKER
from colbench.report.cells import Cells, success, value
from colbench.report.dialogues import human_words
from colbench.report.facts import measure_name, value_name
from colbench.report.frontend import METRICS
from colbench.report.gallery import address
from colbench.report.model import DomainReport
from colbench.rollout import Rollout, Turn
from colbench.score import Score
from colbench.task import Task

BLOCK = 40
"""Tasks packed together."""
REQUEST = 200
"""Characters of a request that the table can search and show."""
LONGEST = 100_000
"""Characters of any one text that the page shows; the run folder has it whole."""


def index(tasks: Sequence[Task], cells: Cells, domain: DomainReport) -> bytes:
    """JSON: what the table of tasks shows, one entry for each task."""
    return msgspec.json.encode(
        {
            "mode": domain.mode,
            "modes": list(domain.modes),
            "measure": value_name(domain),
            "pages": domain.lead != "tests_passed",
            "block": BLOCK,
            "tasks": [
                {
                    "id": task.id,
                    "request": task.request[:REQUEST],
                    "trials": [_line(rollout, domain) for rollout in row],
                    "gallery": address(number) if task.domain == "frontend" else None,
                }
                for number, (task, row) in enumerate(zip(tasks, cells.grid, strict=True))
            ],
        }
    )


def _line(rollout: Rollout | None, domain: DomainReport) -> dict[str, Any] | None:
    if rollout is None:
        return None
    return {
        "values": [value(rollout, mode, domain.lead) for mode in domain.modes],
        "success": success(rollout, domain.mode),
        "turns": len(rollout.turns),
        "words": human_words(rollout),
        "ended": rollout.ended_by,
        "failed": rollout.failure.boundary if rollout.failure else None,
    }


def blocks(tasks: Sequence[Task], cells: Cells) -> Iterator[str]:
    """Base64 of gzipped JSON: the whole of `BLOCK` tasks each."""
    for start in range(0, len(tasks), BLOCK):
        rows = zip(tasks[start : start + BLOCK], cells.grid[start : start + BLOCK], strict=True)
        content = msgspec.json.encode([_task(task, row) for task, row in rows])
        yield b64encode(gzip.compress(content, mtime=0)).decode("ascii")


def _task(task: Task, row: Sequence[Rollout | None]) -> dict[str, Any]:
    hidden = task.hidden
    return {
        "request": _cut(task.request),
        "reference": _cut(hidden.reference),
        "information": _cut(hidden.information) if hidden.information != hidden.reference else "",
        "trials": [rollout and _dialogue(rollout) for rollout in row],
    }


def _dialogue(rollout: Rollout) -> dict[str, Any]:
    return {
        "turns": [_turn(turn) for turn in rollout.turns],
        "answer": None if rollout.answer is None else _cut(rollout.answer),
        "ended": rollout.ended_by,
        "failure": rollout.failure,
        "seconds": rollout.seconds,
        "scores": {mode: _score(score) for mode, score in rollout.scores.items()},
    }


def _turn(turn: Turn) -> dict[str, Any]:
    private, marker, _ = turn.raw.partition(PUBLIC_MARKER)
    return {
        "private": _cut(private.strip()) if marker else "",
        "said": _cut(turn.said),
        "human": turn.human and _cut(turn.human),
        "leak": turn.leak,
        "metrics": _metrics(turn.score) if turn.score else None,
    }


def _score(score: Score) -> dict[str, Any]:
    checks = [[c.call, c.outcome, c.expected, c.actual] for c in score.checks]
    return {
        "value": score.value,
        "success": score.success,
        "note": score.note,
        "environment": score.environment,
        "scorer": score.scorer,
        "metrics": _metrics(score),
        "checks": [[_cut(text) for text in check] for check in checks],
    }


def _metrics(score: Score) -> list[tuple[str, float]]:
    return [(measure_name(name), score.metrics[name]) for name in METRICS if name in score.metrics]


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters are in rollouts.jsonl]"
