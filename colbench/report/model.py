"""What `report.json` holds. Every number is defined in docs/metrics.md."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from colbench.config import ScoringMode
from colbench.errors import Boundary
from colbench.report.cells import Lead
from colbench.stats import Interval

SCHEMA = "colbench.report/1"


class Rates(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers that a domain leads with, under one denominator; of the three means only one is there."""

    success_rate: Interval
    """Backend; empty in frontend design."""
    tests_passed: Interval | None = None
    """Backend."""
    cosine: Interval | None = None
    """Frontend."""
    layout: Interval | None = None
    """Frontend, when any dialogue lacks the cosine."""

    @property
    def lead(self) -> Lead:
        """Which of the means is there."""
        if self.tests_passed:
            return "tests_passed"
        return "cosine" if self.cosine else "layout"

    @property
    def value(self) -> Interval:
        """The mean score, whatever the domain calls it."""
        return cast(Interval, getattr(self, self.lead))


class PassK(Struct, frozen=True, kw_only=True):
    """pass^k: the chance that k trials of a task all succeed."""

    k: int
    tasks: int
    """Tasks with at least k scored trials."""
    rate: Interval


class ModeReport(Rates, frozen=True, kw_only=True):
    """The verdicts of one scoring mode, over the scored cells."""

    scored: int
    unscored: int
    unscored_as_zero: Rates | None
    """The same over all planned cells, an unscored one counted as 0; None when all are scored."""
    pass_k: tuple[PassK, ...]
    """Backend, for k = 1 to the number of trials; empty for a single trial."""
    metrics: dict[str, Interval] = {}
    """Frontend: every measure that was taken of all the scored pages, by name."""


class ModeDelta(Struct, frozen=True, kw_only=True):
    """How much two scoring modes differ over the cells that both have scored: `mode` minus `base`."""

    mode: ScoringMode
    base: ScoringMode
    cells: int
    differing: int
    """Cells whose value differs."""
    value: Interval
    success_rate: Interval


class Turns(Struct, frozen=True, kw_only=True):
    """Replies of the agent in a whole dialogue."""

    mean: Interval
    distribution: tuple[int, ...]
    """Dialogues with 1, 2, … max_turns turns."""


class Words(Struct, frozen=True, kw_only=True):
    """Words said in a whole dialogue, the request not counted."""

    human: Interval
    agent: Interval
    """Of what the human saw: no private part, no answer."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens of one role over all dialogues, as its server counted them."""

    prompt: int
    completion: int
    requests: int
    uncounted: int
    """Replies for which no server gave a count; the sums leave them out."""


class Cost(Struct, frozen=True, kw_only=True):
    """US dollars by role; None when the price or the tokens are unknown."""

    agent: float | None
    human: float | None


class LeakShare(Struct, frozen=True, kw_only=True):
    """The share of the reference that the human was the first to tell, over dialogues."""

    mean: float
    max: float


class Leaks(Struct, frozen=True, kw_only=True):
    """The leak audit over the audited dialogues."""

    dialogues: int
    identifiers: LeakShare
    literals: LeakShare
    ngrams: LeakShare


class Reason(Struct, frozen=True, kw_only=True):
    """One reason for failing and how many cells gave it."""

    reason: str
    count: int


class Failures(Struct, frozen=True, kw_only=True):
    """The cells that failed at one boundary, with the most frequent reasons."""

    count: int
    reasons: tuple[Reason, ...]


class Budget(Struct, frozen=True, kw_only=True):
    """What the run would have come to with so many turns.

    Backend: had dialogues without an answer by this turn been given up. Frontend: had they been judged by the page
    shown last.
    """

    turn: int
    success_rate: Interval
    """Backend; empty in frontend design."""
    answered: float | None
    """Share of scored cells whose answer had been given."""
    value: Interval | None = None
    """Frontend: the mean of the leading measure, in the default mode; None when no turn was measured."""

    @property
    def score(self) -> Interval:
        """What the curve of the domain shows."""
        return self.value or self.success_rate


class WinRate(Struct, frozen=True, kw_only=True):
    """How often this run's score is the higher one, task by task."""

    baseline: str
    """The run folder or rollout file, as given."""
    agent: str
    """Of the baseline; empty when a rollout file does not say."""
    measure: Lead
    epsilon: float
    """Values no further apart are a tie, which counts half."""
    tasks: int
    """Compared: the same in both runs, and scored in both."""
    rate: Interval
    note: str = ""
    """What makes the two hard to compare."""


class DomainReport(ModeReport, frozen=True, kw_only=True):
    """Everything about one domain; the numbers at the top are those of the leading mode."""

    mode: ScoringMode
    """The leading scoring mode: the one asked for, if it has verdicts."""
    tasks: int
    trials: int
    cells: int
    """Planned: tasks times trials."""
    missing: int
    """Planned cells that have no rollout yet; they are unscored."""
    unjudged: int
    """Cells where nothing failed and yet nothing could be compared with; in no denominator."""
    scorers: dict[str, int]
    """Dialogues by the scorer that gave their verdict in the leading mode."""
    modes: dict[ScoringMode, ModeReport]
    delta: ModeDelta | None
    """None unless two modes have scored the run."""
    distribution: tuple[int, ...]
    """Scored cells whose value is 0, about 0.1, … about 0.9, and 1; only 0 and 1 themselves are at the ends."""
    by_turn: tuple[Budget, ...]
    ended_by: dict[str, int]
    """Dialogues by `answer`, `limit`, `failure`."""
    turns: Turns
    words: Words
    tokens: dict[str, Tokens | None]
    """By `agent` and `human`; None when no server counted."""
    cost: Cost
    leaks: Leaks | None
    """None when no dialogue was audited."""
    failures: dict[Boundary, Failures]
    wall_seconds: float
    """Time in which at least one dialogue was under way."""
    floors: dict[str, dict[str, float]] = {}
    """Frontend: the metrics of `black`, `white`, `other` and `target` itself, as means over the tasks."""
    notes: tuple[Reason, ...] = ()
    """Frontend: what the verdicts say beside their numbers, the most frequent first."""
    win_rate: WinRate | None = None
    """None without a baseline that holds tasks of this domain."""


class RunReport(Struct, frozen=True, kw_only=True):
    """The report of a run."""

    schema: str = SCHEMA
    agent: str
    human: str
    tasks: str
    """The source, as given."""
    seed: int
    max_turns: int
    domains: dict[str, DomainReport]
    ignored: int
    """Rollouts in the folder that belong to no planned cell."""
    warnings: tuple[str, ...] = ()
    """Why the numbers are not what was asked for, or not all taken under the run's conditions."""
