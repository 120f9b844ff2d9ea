"""The rules beyond a bundle's form, each with what comes of breaking it; docs/leaderboard.md explains them.

What is read as a file has rules of its own, all refusals, where it is read: `archive`, `manifest`, `people`, …
"""

from __future__ import annotations

from colbench_leaderboard.receipt import Severity

RULES: dict[str, Severity] = {
    "lock.config": "refusal",
    "lock.digest": "refusal",
    "lock.domain": "refusal",
    "lock.packages": "refusal",
    "lock.pins": "refusal",
    "lock.standard": "refusal",
    "lock.tasks": "refusal",
    "lock.text": "refusal",
    "lock.version": "flag",
    "grid.extra-trial": "refusal",
    "grid.seed": "refusal",
    "grid.task-hash": "refusal",
    "grid.unknown-task": "refusal",
    "grid.failed-cell": "flag",
    "grid.missing-cell": "flag",
    "protocol.answer": "refusal",
    "protocol.early-end": "refusal",
    "protocol.end": "refusal",
    "protocol.failure": "refusal",
    "protocol.human": "refusal",
    "protocol.request": "refusal",
    "protocol.said": "refusal",
    "protocol.turns": "refusal",
    "replay.reply": "refusal",
    "replay.model": "note",
    "replay.sample": "note",
    "score.void": "note",
    "audit.duplicates": "flag",
    "audit.human-role": "flag",
    "audit.reference-copies": "flag",
    "audit.undisclosed": "flag",
    "audit.same-trials": "note",
    "audit.solved-untold": "note",
    "audit.copied-untold": "note",
}
