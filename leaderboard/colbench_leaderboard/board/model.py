"""Data classes for the boards of a store.

A board contains the entries of one track that can be compared: they were verified on the same tasks of one domain, and
had the same human and turn limit. `standings.read_standings` reads boards from a store, and checks the hash of every
file that it reads. `standings.board_results` returns the results by task, and `comparison.Comparisons` uses these
results to compare entries.
"""

from __future__ import annotations

from msgspec import Struct

from colbench.stats import Estimate
from colbench_leaderboard.bundle.schema import Lock, Model, Submission, Track
from colbench_leaderboard.store.layout import Record
from colbench_leaderboard.verify.receipt import Finding, Level, Receipt, Summary


class Rank(Struct, frozen=True, kw_only=True):
    """An entry's place on a board, and the interval of the place. Boards are ranked by mean value."""

    place: int
    """The place, counted from 1; entries with the same mean share a place."""
    low: int
    high: int
    """`low` to `high` is the 95% interval of the place; see `colbench.stats.ranks.Places`."""
    words: str
    """A phrase about separability, such as `not separable from 2 others, at ranks 1 and 3`."""


class Row(Struct, frozen=True, kw_only=True):
    """An entry, as one row of a leaderboard."""

    bundle: str
    name: str
    organization: str
    models: tuple[Model, ...]
    open_weights: bool
    """True if the weights of every model can be downloaded; False if no model is named."""
    trained_on_colbench: bool
    human_in_the_loop: bool
    agent_process: str
    """The kind of process that ran the agent, such as "in-process", or "not stated" if the bundle does not state it."""
    level: Level
    """The verification level: V3 if the maintainers ran the system and all their runs agree with the entry.

    Otherwise, it is the level in the receipt.
    """
    rerun: str
    """The digest of the bundle of a run that the maintainers made with this system; "" if they made no such run.

    If they made several runs, this is the last run whose results differ significantly from the entry's results. If no
    results differ, this is the last run.
    """
    reruns: str
    """For a maintainers' run, the digest of the entry whose system was run; "" for all other entries."""
    flags: tuple[str, ...]
    """Rules that flagged the entry, each once, including `rerun.differs` if a maintainers' run disagrees with it."""
    pending: tuple[Finding, ...]
    """Flags because of which the entry has no rank until a keeper (maintainer) decides about them.

    See `verify.findings.awaits_decision`.
    """
    rank: Rank | None
    """None if the entry has pending flags, is a reference line, or is a maintainers' run."""
    date: str
    """Date of acceptance: YYYY-MM-DD."""
    trials: int
    value: Estimate
    """The domain's primary metric."""
    success: Estimate | None
    """None in a domain without a success metric."""
    pass_k: tuple[float, ...]
    turns: Estimate
    agent_words: Estimate
    human_words: Estimate
    ask_precision: Estimate | None
    """Precision of the questions; see docs/metrics.md. None if the tasks' decisions are not known."""
    ask_recall: Estimate | None
    ask_f1: Estimate | None
    answered: float
    success_by_turn: tuple[float, ...]
    undisclosed: float | None
    tokens: float | None
    """The mean number of the agent's prompt and completion tokens per dialogue, as stated in the bundle.

    None unless the tokens of every reply are known.
    """
    cost: float | None
    """The agent's mean cost per dialogue in US dollars, at the price that the run stated.

    None unless the price and the tokens of every reply are known.
    """


class Ceiling(Struct, frozen=True, kw_only=True):
    """The score of an answer that equals the reference: 1 by definition (`colbench tasks validate` checks this).

    The *ceiling* in the report of a run with `--told all` is another number: the score of an agent.
    """

    name: str = "reference"
    value: float = 1.0
    success: float | None = 1.0
    """None in a domain without a success metric."""


class Board(Struct, frozen=True, kw_only=True):
    """All entries of one track that were verified on the same tasks, with the same human and turn limit."""

    key: str
    """The board's name in URLs; see `placement.board_key`."""
    track: Track
    domain: str
    source: str
    """Source of the tasks, as the first entry named it."""
    tasks_hash: str
    tasks: int
    setting: str
    """The human and the turn limit of every entry; see `placement.setting`."""
    rows: tuple[Row, ...]
    """The ranked entries, the best first."""
    flagged: tuple[Row, ...]
    """Entries that have no rank until a keeper decides about their flags, the best first."""
    lines: tuple[Row, ...]
    """Unranked rows, the best first: the reference lines, and the maintainers' own runs."""
    ceiling: Ceiling
    least_detectable: float | None
    """The true difference of two entries' means that a two-sided test at 5% detects with a probability of 80%.

    This difference is computed for each pair of ranked entries, and the value is the median over the pairs. None if
    there are fewer than two ranked entries or fewer than 6 tasks.
    """

    @property
    def everyone(self) -> tuple[Row, ...]:
        """All rows: the ranked entries, the flagged entries, and the unranked `lines`."""
        return (*self.rows, *self.flagged, *self.lines)


class Entry(Struct, frozen=True, kw_only=True):
    """An entry on a board, without its trajectories and scores."""

    bundle: str
    board: str
    """The board's key."""
    accepted: Record
    """The last record that accepted the entry."""
    current: Record
    """The record that names the current receipt; its decision is accepted, rescored or kept."""
    submission: Submission
    lock: Lock
    receipt: Receipt
    summary: Summary


class Delta(Struct, frozen=True, kw_only=True):
    """The changes that a rescoring made to an entry's scores; they are published with the entry."""

    record: int
    """Number of the log record about the rescoring."""
    bundle: str
    cells: int
    differing: int
    """Number of cells whose value has changed."""
    value_before: float
    value_after: float
    success_before: float | None
    success_after: float | None


class Reported(Struct, frozen=True, kw_only=True):
    """A line of the paper's Table 2, in percent: as reported in the paper, not recomputed."""

    setting: str
    model: str
    tests: float
    success: float
    cosine: float
    win: float


class Standings(Struct, frozen=True, kw_only=True):
    """The boards, the entries and the log of a store, and the paper's table."""

    head: str
    """SHA-256 of the log's last line. Anyone who saves this hash can detect later changes to the log."""
    records: tuple[Record, ...]
    boards: tuple[Board, ...]
    """The boards of the standard track, then those of the open track; within a track, sorted by domain."""
    entries: dict[str, Entry]
    """The entries on all boards, by digest."""
    deltas: tuple[Delta, ...]
    reported: tuple[Reported, ...]
