"""The contents of a comparison, as `colbench compare --json` prints them; docs/compare.md defines every number."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from colbench.errors import UserError
from colbench.stats import Interval
from colbench.stats.comparison import Significance

SCHEMA = "colbench.comparison/1"
Group = Literal["answer", "asking", "effort"]
"""The subject of a measure: the answer, the questions, or the effort (turns, words, tokens, cost)."""


class Measure(Struct, frozen=True, kw_only=True):
    """One number per dialogue, by which runs are compared."""

    name: str
    label: str
    """Human-readable name, in lower case."""
    group: Group
    unit: str = "%"
    """`%` for a share: values are shown as percentages, and differences in percentage points.

    For any other measure, the unit of its values, such as `$`; may be empty.
    """
    direction: Literal["higher", "lower"] = "higher"
    """The direction of better values, higher or lower."""
    bounds: tuple[float, float] | None
    """Least and greatest possible value; None for an unbounded measure."""


class Difference(Struct, frozen=True, kw_only=True):
    """The difference of two runs in one measure, over the cells (task and trial) in which both runs have a value."""

    tasks: int
    cells: int
    mine: float
    """Mean of the first run over the tasks; the value of a task is the mean over its trials."""
    theirs: float
    mean: Interval
    """Mean of the first run minus mean of the second run, with an interval from a bootstrap over the tasks."""
    won: int
    """Number of tasks on which the first run wins more than half of the pairs of trials.

    A pair has one trial of each run, and a tied pair counts as half a win.
    """
    tied: int
    lost: int
    win_rate: Interval
    """Mean over tasks of the share of pairs of trials that the first run wins; a tied pair counts as half a win."""
    test: Significance
    """McNemar's exact test for success with one trial per task; otherwise, a sign-flip permutation test over tasks."""
    signs: Significance
    """The exact sign test of tasks won against tasks lost."""
    only_mine: int | None = None
    """Number of cells in which only the first run succeeded. None for measures other than success."""
    only_theirs: int | None = None
    least_detectable: float | None
    """The smallest difference that a test on these tasks would detect with a power of 80%.

    This assumes a two-sided test at 5% and the normal approximation. None for fewer than 6 tasks, or if all tasks have
    the same difference, so that its variance is unknown.
    """
    tasks_needed: int | None
    """Number of tasks like these that would make the observed difference just detectable.

    None if the difference is 0, or if all tasks have the same difference.
    """
    trials_needed: int | None
    """Number of trials of each of these tasks that would make the observed difference just detectable.

    None if `tasks_needed` is None, if no task has several trials, or if no number is enough. With fewer than 6 tasks,
    no number is enough.
    """


class Pair(Struct, frozen=True, kw_only=True):
    """One run compared with another."""

    mine: int
    """The index in `Comparison.runs` of the first run of the pair."""
    theirs: int
    left_out: int
    """Number of cells that both runs planned on the compared tasks, and that at least one run has not scored."""
    verdict: str
    """The verdict on the first run by the headline measure: `ahead`, `behind` or `not separable`."""
    differences: dict[str, Difference]
    """Differences by measure; a measure is left out if no cell has its value in both runs."""
    theirs_failed: dict[str, int] | None
    """Number of cells that only the first run solved, by the failure class of the second run in these cells.

    None in a domain without a success metric.
    """
    mine_failed: dict[str, int] | None


class RunMeans(Struct, frozen=True, kw_only=True):
    """Mean values of one run over the tasks that all compared runs have."""

    means: dict[str, Interval]
    """Means by measure."""
    outcomes: dict[str, int] | None
    """Number of scored cells by outcome: `succeeded` or a failure class; None in a domain without a success metric."""


class TaskDifference(Struct, frozen=True, kw_only=True):
    """A task on which at least two of the runs differ in the leading metric by more than the tolerance for ties."""

    task_id: str
    task_hash: str
    family: str
    values: tuple[float | None, ...]
    """The leading metric of each run, as the mean over its trials; None if the run has no scored trial."""


class DomainComparison(Struct, frozen=True, kw_only=True):
    """The runs compared on the tasks of one domain."""

    title: str
    mode: str
    """Scoring mode."""
    headline: str
    """The measure used for the verdicts: success if the domain has it, else the leading metric."""
    value: str
    """The measure by which `differing` is sorted: the leading metric."""
    measures: tuple[Measure, ...]
    tasks: int
    """Number of tasks that all runs have."""
    runs: tuple[RunMeans, ...]
    pairs: tuple[Pair, ...]
    differing: tuple[TaskDifference, ...]
    """Tasks with different results, the largest differences first."""

    def measure(self, name: str) -> Measure:
        """Return the measure with this name."""
        return next(each for each in self.measures if each.name == name)


class RunName(Struct, frozen=True, kw_only=True):
    """A compared run: its name, and its main settings."""

    letter: str
    name: str
    """The first of these properties that differs in every run: agent without server URL, agent, folder name, path."""
    path: str
    agent: str
    human: str
    tasks: str
    trials: int
    digest: str
    """Digest of the configuration."""


class Mismatch(Struct, frozen=True, kw_only=True):
    """A recorded property (pin) whose values differ between runs, so that the runs cannot be compared."""

    pin: str
    values: tuple[str, ...]
    """One value for each run."""
    fix: str = ""


class Comparison(Struct, frozen=True, kw_only=True):
    """Runs compared on the same tasks.

    For two runs on one domain, `difference("success")` returns everything known about that measure.
    """

    schema: str = SCHEMA
    runs: tuple[RunName, ...]
    mismatches: tuple[Mismatch, ...]
    """Pins that differ between the runs; empty unless the comparison was forced."""
    notes: tuple[str, ...]
    """Warnings about the comparison."""
    domains: dict[str, DomainComparison]

    def difference(self, measure: str) -> Difference:
        """Return the difference of the two runs in a measure, such as `success`: the first run minus the second.

        Raises UserError if the comparison has several domains or more than two runs, if the measure is unknown, or if
        no trial has a value of the measure in both runs.
        """
        if len(self.domains) != 1 or len(self.runs) != 2:
            raise UserError(
                f"{len(self.runs)} runs are compared on {' and '.join(self.domains)}, but `difference` "
                "needs two runs on one domain; choose one of `domains[NAME].pairs`"
            )
        domain = next(iter(self.domains.values()))
        known = [each.name for each in domain.measures]
        if measure not in known:
            raise UserError(f"{measure}: unknown measure; known measures are {', '.join(known)}")
        found = domain.pairs[0].differences
        if measure not in found:
            raise UserError(
                f"{measure}: no trial has a value in both runs; if trials are unscored, repeat the runs' commands"
            )
        return found[measure]
