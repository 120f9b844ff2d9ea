"""The contents of `report.json`. Every number is defined in docs/metrics.md."""

from __future__ import annotations

from msgspec import Struct

from colbench.errors import Boundary, UserError
from colbench.stats import Interval

SCHEMA = "colbench.report/2"


class Rates(Struct, frozen=True, kw_only=True):
    """The main numbers of a domain, all with the same denominator."""

    success_rate: Interval | None
    """Share of successful dialogues; None in a domain that does not define success, such as frontend design."""
    value: Interval
    """Mean of the leading metric."""


class PassK(Struct, frozen=True, kw_only=True):
    """pass^k: the chance that k trials of a task all succeed."""

    k: int
    tasks: int
    """Tasks with at least k scored trials."""
    rate: Interval


class ModeReport(Rates, frozen=True, kw_only=True):
    """The results of one scoring mode. Except in `unscored_as_zero`, rates are over the dialogues that have a score."""

    scored: int
    scored_tasks: int | None = None
    """Number of tasks with a scored dialogue; None in a report of an earlier version."""
    unscored: int
    """Number of planned cells without a score; unjudged cells do not count."""
    unscored_as_zero: Rates | None
    """The rates over all planned cells except unjudged ones, with unscored cells as 0; None if all cells are scored."""
    pass_k: tuple[PassK, ...]
    """pass^k for k = 1 to the number of trials; empty for a single trial, or if the domain does not define success."""
    metrics: dict[str, Interval] = {}
    """The mean of every metric that was computed for all measured answers, by name."""


class ModeDelta(Struct, frozen=True, kw_only=True):
    """The difference between two scoring modes, over the cells that both modes have scored: `mode` minus `base`."""

    mode: str
    base: str
    cells: int
    differing: int
    """Number of cells with different values."""
    value: Interval
    success_rate: Interval | None


class Turns(Struct, frozen=True, kw_only=True):
    """The agent's replies per dialogue, over dialogues that did not end in a failure."""

    mean: Interval
    distribution: tuple[int, ...]
    """Number of these dialogues with 1, 2, … turns, up to the number of turns in the domain's longest dialogue.

    The longest dialogue may have ended in a failure. It is then not counted, so the last numbers can be 0.
    """


class Words(Struct, frozen=True, kw_only=True):
    """Mean words per dialogue, the request excluded, over dialogues that did not end in a failure."""

    human: Interval
    agent: Interval
    """Words that the human could read: no private part, no answer."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens of one role over all dialogues, as counted by model servers."""

    prompt: int
    completion: int
    requests: int
    uncounted: int
    """Number of replies for which no server reported a token count; the sums exclude these replies."""


class Replies(Struct, frozen=True, kw_only=True):
    """The replies of one role that came from model servers: their number, delivery problems, repeats and waits."""

    total: int
    empty: int
    """Number of replies that contain no text, or only thoughts."""
    cut: int
    """Number of replies cut by a limit on their length."""
    filtered: int
    """Number of replies ended by the provider's filter."""
    refused: int
    """Number of replies that are refusals by the model, in the field `refusal`."""
    retries: int
    """Number of requests that were repeated, for example after a failure or an empty reply."""
    waited: float
    """Seconds before the successful requests were sent: waits for a slot, failed requests, and waits after failures."""


class Cost(Struct, frozen=True, kw_only=True):
    """The cost in US dollars by role; a role's cost is None if the price or the tokens are unknown."""

    agent: float | None
    human: float | None


class LeakShare(Struct, frozen=True, kw_only=True):
    """The share of the reference's identifiers, literals or n-grams that the human revealed without being asked.

    The mean and the maximum over the audited dialogues.
    """

    mean: float
    max: float


class Leaks(Struct, frozen=True, kw_only=True):
    """The result of the leak audit over the audited dialogues: what the human revealed without being asked."""

    dialogues: int
    identifiers: LeakShare
    literals: LeakShare
    ngrams: LeakShare


class Reason(Struct, frozen=True, kw_only=True):
    """A text, such as a reason for failing, and the number of cells that share the text."""

    reason: str
    count: int


class Failures(Struct, frozen=True, kw_only=True):
    """The failures of one part of a run, such as `agent`: the number of failed cells and the most frequent reasons."""

    count: int
    reasons: tuple[Reason, ...]


class Budget(Struct, frozen=True, kw_only=True):
    """The results of a run by the end of turn `turn`.

    A run with this turn limit may have other results, because its agent might answer sooner.
    """

    turn: int
    success_rate: Interval | None
    """Share of scored cells that had succeeded by this turn; None in a domain that does not define success."""
    answered: float | None
    """Share of scored cells in which the agent had answered by this turn; None if no cell is scored.

    A message that is the answer only because of the turn limit does not count.
    """
    value: Interval | None = None
    """Mean of the leading metric for the last answer shown by this turn, in the domain's first mode.

    None if the scores by turn are unknown, as in a domain that does not score turns.
    """


class WinRate(Struct, frozen=True, kw_only=True):
    """The share of tasks on which this run scores higher than a baseline."""

    baseline: str
    """The baseline's run folder or rollout file, as given by the user."""
    agent: str
    """Agent of the baseline; empty if the baseline is a file of rollouts, which does not name the agent."""
    measure: str
    """Name of the metric that was compared."""
    epsilon: float
    """Largest difference of two values that counts as a tie, that is, as half a win."""
    tasks: int
    """Number of tasks that have been scored in both runs."""
    rate: Interval
    note: str = ""
    """Why the fallback metric was compared, and how the scoring of the two runs differs; empty if neither applies."""


class DecisionReport(Struct, frozen=True, kw_only=True):
    """Counts for one decision of a family, over the dialogues in which the decision was hidden."""

    family: str
    decision: str
    hidden: int
    asked: int
    told: int
    guessed: int
    """Number of dialogues in which the agent was never told the decision but got it right."""
    ignored: int
    """Number of dialogues in which the agent was told the decision but contradicted it."""


class AskingReport(Struct, frozen=True, kw_only=True):
    """Measures of the agent's questions, over the dialogues that have such measures."""

    dialogues: int
    estimated: bool
    """True if, for at least one dialogue, the decisions were derived from the reference because the task lists none."""
    metrics: dict[str, Interval]
    """Metrics by name; a mean leaves out dialogues in which the metric is undefined."""
    gain_per_question: Interval | None
    """Gain in score over a dialogue without questions, per question; None without a baseline that asks nothing."""
    recall_by_turn: tuple[float, ...]
    """Share of the hidden decisions revealed up to turn 1, 2, …"""
    decisions: tuple[DecisionReport, ...]
    """The decisions by family and name, sorted by the share of dialogues in which they were asked for (ascending).

    Decisions with equal shares are sorted by the number of dialogues in which they were hidden (descending).
    """


class FollowedReport(Struct, frozen=True, kw_only=True):
    """A summary of what the agent's next page does about each difference that the human pointed out."""

    dialogues: int
    """Number of dialogues in which a difference was pointed out."""
    differences: int
    metrics: dict[str, Interval]
    """Mean shares of a dialogue's differences, by outcome, such as `differences_fixed`."""


class FailedReport(Struct, frozen=True, kw_only=True):
    """Failed dialogues by class; see `colbench.asking.failure_class`."""

    classes: dict[str, int]
    families: dict[str, dict[str, int]]
    """Counts by family and class."""
    scored: dict[str, int] = {}
    """Number of scored dialogues by family, including successful ones."""
    errors: tuple[Reason, ...] = ()
    """The most frequent types of errors of crashed answers, in descending order of frequency.

    Each `reason` is the most frequent error of its type; each `count` is the number of answers with this type of error.
    """


class Ceiling(Struct, frozen=True, kw_only=True):
    """The scores of a run whose first messages state everything, and of the report's own run, on the same tasks."""

    run: str
    """Path of the folder of the run whose first messages reveal every decision, as given by the user."""
    tasks: int
    """Tasks that both runs have scored."""
    value: Interval
    success_rate: Interval | None
    own_value: Interval
    own_success_rate: Interval | None


class DomainReport(ModeReport, frozen=True, kw_only=True):
    """Everything about one domain; the top-level numbers are the results of the leading mode."""

    mode: str
    """The leading scoring mode: the requested one, unless only the domain's first mode can lead (`scores.modes`)."""
    lead: str
    """Name of the leading metric, whose mean is `value`."""
    tasks: int
    trials: int
    cells: int
    """Number of planned cells: tasks times trials, or fewer in a shard."""
    missing: int
    """Planned cells that have no rollout yet; they are unscored."""
    unjudged: int
    """Cells in which nothing failed but the reference cannot be compared; they are in no denominator."""
    scorers: dict[str, int]
    """Dialogues by the scorer that gave their verdict in the leading mode."""
    modes: dict[str, ModeReport]
    delta: ModeDelta | None
    """The difference between two scoring modes; None if only one mode has scored the run."""
    distribution: tuple[int, ...]
    """Number of scored cells by value, rounded to tenths.

    The first bin contains only values of 0 and below. The last bin contains only values of 1 and above.
    """
    by_turn: tuple[Budget, ...]
    """Results by the end of each turn, from 1 to the number of turns of the longest dialogue."""
    ended_by: dict[str, int]
    """Number of dialogues by the event that ended them: `answer`, `limit`, `failure`."""
    turns: Turns
    words: Words
    tokens: dict[str, Tokens | None]
    """Tokens by `agent` and `human`; None if no server counted them."""
    replies: dict[str, Replies] = {}
    """The replies that came from model servers, by role; a role without such replies is left out."""
    cost: Cost
    leaks: Leaks | None
    """The result of the leak audit; None if no dialogue was audited."""
    failures: dict[Boundary, Failures]
    wall_seconds: float
    """Total time during which at least one dialogue was running."""
    floors: dict[str, dict[str, float]] = {}
    """Metrics of answers that need no dialogue, by answer, as means over the tasks (`Domain.floors`)."""
    outcomes: dict[str, int] = {}
    """Number of answers that could not be measured, by `Score.outcome`, such as `varies`."""
    notes: tuple[Reason, ...] = ()
    """Remarks in the verdicts: first those on answers that could not be measured, then those on other answers.

    In each of the two groups, the most frequent remark is first.
    """
    win_rate: WinRate | None = None
    """The win rate over the baseline; None without a baseline that has tasks of this domain."""
    asking: AskingReport | None = None
    """Measures of the questions; None if no dialogue records which decisions were asked for."""
    followed: FollowedReport | None = None
    """Outcomes of differences; None if no dialogue records which differences the human pointed out."""
    ceiling: Ceiling | None = None
    """The scores of a run in which the agent was told everything.

    None if such a run was not given, or if the two runs share no scored task.
    """
    failed: FailedReport | None = None
    """Failed dialogues by class; None in a domain that does not define success."""


class RunReport(Struct, frozen=True, kw_only=True):
    """The report of a run.

    For a run with a single domain, `success_rate`, `value` and `metrics` are the main numbers. If the run has several
    domains or none, these attributes raise UserError.
    """

    schema: str = SCHEMA
    agent: str
    human: str
    tasks: str
    """The task source, as given by the user."""
    seed: int
    max_turns: int
    domains: dict[str, DomainReport]
    ignored: int
    """Number of rollouts that do not count.

    They belong to no planned cell, are about an earlier version of a task, or were replaced by a later rollout.
    """
    warnings: tuple[str, ...] = ()
    """Warnings about the numbers, for example that answers were not scored with the tools of the run."""
    pages: dict[str, str] = {}
    """File name of the first page in each set of further pages next to `report.html`, by the name of the set."""

    @property
    def success_rate(self) -> Interval | None:
        """Share of successful dialogues, with its interval; None if the domain does not define success."""
        return self._only().success_rate

    @property
    def value(self) -> Interval:
        """Mean of the domain's leading metric, with its interval."""
        return self._only().value

    @property
    def metrics(self) -> dict[str, Interval]:
        """Means of all computed metrics, by name."""
        return self._only().metrics

    def _only(self) -> DomainReport:
        if len(self.domains) != 1:
            raise UserError(
                f"the run has tasks of {' and '.join(self.domains) or 'no domain'}; use one of "
                "`report.domains`, such as `report.domains[NAME].value`"
            )
        return next(iter(self.domains.values()))
