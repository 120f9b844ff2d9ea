"""The numbers of the boards of a store, as frozen values; all that the site and the downloads show.

A board holds the entries of one track that were verified on the same tasks of one domain, so that they can be
compared. `standings.read_standings` makes these values of a store, with every file checked against the hash by which
it is named; `standings.board_results` has the results by task, and `comparison.Comparisons` of those A against B.
"""

from __future__ import annotations

from msgspec import Struct

from colbench.stats import Estimate
from colbench_leaderboard.bundle import Lock, Model, Submission, Track
from colbench_leaderboard.receipt import Receipt, Summary, Tier
from colbench_leaderboard.store import Record


class Rank(Struct, frozen=True, kw_only=True):
    """A place on a board by the mean value, and how sure it is."""

    place: int
    """From 1; entries with the same mean share it."""
    low: int
    high: int
    """The 95 % interval of the place, by a joint bootstrap over the tasks of all ranked entries."""
    words: str
    """Which entries it cannot be told apart from."""


class Row(Struct, frozen=True, kw_only=True):
    """An entry on its board."""

    bundle: str
    name: str
    organisation: str
    models: tuple[Model, ...]
    open_weights: bool
    """Of every model; False when none is named."""
    trained_on_colbench: bool
    human_in_the_loop: bool
    tier: Tier
    """Of the receipt; T3 where `rerun` agrees."""
    rerun: str
    """The digest of the bundle of the maintainers' own run of the system; "" without one."""
    reruns: str
    """Of such a run: the digest of the entry whose system it is; "" for all others."""
    flags: tuple[str, ...]
    """Rules under which something was flagged, each once; `rerun.differs` where the maintainers' run does not agree."""
    rank: Rank | None
    """None: a reference line, or a maintainers' run."""
    date: str
    """When it was accepted: YYYY-MM-DD."""
    trials: int
    value: Estimate
    success: Estimate | None
    pass_k: tuple[float, ...]
    turns: Estimate
    agent_words: Estimate
    human_words: Estimate
    answered: float
    success_by_turn: tuple[float, ...]
    undisclosed: float | None
    tokens: float | None
    """Of the agent's completions and prompts, a dialogue, as the bundle says; None unless all are known."""
    cost: float | None
    """US dollars of the agent, a dialogue, at the price that the run stated; None unless price and tokens are known."""


class Ceiling(Struct, frozen=True, kw_only=True):
    """The reference itself as an answer: what the scorers give it, by definition and by `colbench validate`."""

    name: str = "reference"
    value: float = 1.0
    success: float | None = 1.0
    """None for frontend."""


class Board(Struct, frozen=True, kw_only=True):
    """The entries of a track on the same tasks."""

    key: str
    """For addresses: `standard-backend-` and the first 16 digits of the tasks' hash."""
    track: Track
    domain: str
    source: str
    """Of the tasks, as the first entry named it."""
    tasks_hash: str
    tasks: int
    rows: tuple[Row, ...]
    """The ranked entries, the best first."""
    lines: tuple[Row, ...]
    """What is not ranked, the best first: the reference lines, and the maintainers' own runs."""
    ceiling: Ceiling
    least_detectable: float | None
    """The difference of two means that a pair of ranked entries shows in 4 of 5 times (two-sided, 5 %): the median
    over all pairs; None for fewer than two entries."""


class Entry(Struct, frozen=True, kw_only=True):
    """An entry that stands, with everything but its trajectories and scores."""

    bundle: str
    board: str
    """The board's key."""
    accepted: Record
    """The latest record that accepted it."""
    current: Record
    """The record that names the receipt that holds: accepted or rescored."""
    submission: Submission
    lock: Lock
    receipt: Receipt
    summary: Summary


class Delta(Struct, frozen=True, kw_only=True):
    """What a rescoring changed; published beside the entry."""

    record: int
    """Number of the record."""
    bundle: str
    cells: int
    differing: int
    """Cells whose value is not what it was."""
    value_before: float
    value_after: float
    success_before: float | None
    success_after: float | None


class Reported(Struct, frozen=True, kw_only=True):
    """A line of the paper's Table 2, in per cent: reported there, recomputed by nobody here."""

    setting: str
    model: str
    tests: float
    success: float
    cosine: float
    win: float


class Standings(Struct, frozen=True, kw_only=True):
    """Everything that a store says."""

    head: str
    """SHA-256 of the log's last line; who keeps it can tell later that nothing before was changed."""
    records: tuple[Record, ...]
    boards: tuple[Board, ...]
    """Standard before open, backend before frontend."""
    entries: dict[str, Entry]
    """Those that stand, by digest."""
    deltas: tuple[Delta, ...]
    reported: tuple[Reported, ...]
