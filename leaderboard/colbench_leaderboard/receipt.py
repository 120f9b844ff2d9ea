"""What a receiver found: files that are the same, byte for byte, wherever a bundle is verified with the same tasks.

    verified/scores.jsonl   `CellScore`, canonical JSON, a line for each cell of the grid, by task and trial
    verified/summary.json   `Summary`
    verified/receipt.json   `Receipt`

No time, machine or path is in them. Frontend values are rounded to `FRONTEND_DIGITS` decimals first.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench.stats import Estimate

SCHEMA = "colbench.receipt/1"
SCORES, SUMMARY, RECEIPT = "scores.jsonl", "summary.json", "receipt.json"
FRONTEND_DIGITS = 4
Tier = Literal["T0", "T1", "T2", "T3"]
"""T0 well-formed, T1 rescored, T2 the simulated human was replayed, T3 the maintainers ran it again."""
Severity = Literal["refusal", "flag", "note"]
"""A refusal keeps an entry out; a flag is shown beside it; a note is for the record."""


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is not as it should be."""

    rule: str
    """Its short name, such as `grid.missing-cell`; docs/leaderboard.md has all of them."""
    severity: Severity
    file: str
    """In the bundle; "" for the whole of it."""
    line: int | None = None
    """From 1."""
    message: str


class CellScore(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell: what its answer is worth, recomputed, and what was counted."""

    task_id: str
    trial: int
    value: float
    success: bool | None
    """None for frontend design."""
    official: float | None = None
    """The value by the official scorer, where it has one."""
    turns: int
    answered: bool
    agent_words: int
    human_words: int
    agent_tokens: int | None = None
    """As the bundle says; None where it does not."""
    failure: str = ""
    """The boundary, for a cell that counts 0 for it."""
    by_turn: tuple[float, ...] = ()
    """The value had the dialogue ended after each turn, where that can be said."""


class Summary(Struct, frozen=True, kw_only=True):
    """The numbers of an entry."""

    domain: str
    tasks: int
    trials: int
    value: Estimate
    success: Estimate | None
    pass_k: tuple[float, ...]
    """Pass^k for k = 1 to the number of trials; empty for frontend."""
    turns: Estimate
    agent_words: Estimate
    human_words: Estimate
    answered: float
    success_by_turn: tuple[float, ...]
    """Share of the dialogues that had succeeded by turn 1, 2, …; for frontend the mean value."""
    undisclosed: float | None
    """Mean share of the hidden facts that an answer used before the human had told them."""


class Receipt(Struct, frozen=True, kw_only=True):
    """The verdict."""

    schema: str = SCHEMA
    bundle: str
    """Its digest."""
    colbench: str
    """The version that verified."""
    tasks: str
    """The hash of the receiver's own tasks."""
    scorer: str
    tier: Tier | None
    """None: refused."""
    findings: tuple[Finding, ...]
    replayed: int
    """Replies of the human that were made again and are the same."""
    scores: str
    """SHA-256 of scores.jsonl."""
    summary: str
    """SHA-256 of summary.json."""
