"""The numbers of a bundle: a line of `scores.jsonl` for each cell, and a summary of all cells.

Means are taken over the trials of each task, then over the tasks; intervals resample tasks, not trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from colbench.asking.measures import measured
from colbench.domain import Domain
from colbench.registry import get_domain
from colbench.report.dialogue_stats import agent_words, human_words
from colbench.rollout import Rollout
from colbench.stats import Estimate, mean_interval, pass_k
from colbench.stats.estimate import DIGITS
from colbench.task import Task
from colbench_leaderboard.verify.receipt import CellScore, Summary

ABSENT = "absent"
"""The value of `CellScore.failure` for cells that the bundle lacks."""

ASKING = ("ask_precision", "ask_recall", "ask_f1")
"""Measures of the agent's questions that are shown for an entry."""
Rows = list[list[CellScore]]
"""The scores of the cells, with one list for each task."""
Measure = Callable[[CellScore], float]


def absent_cell(task: Task, trial: int) -> CellScore:
    """Return the score of a trial that the bundle lacks; the value is 0."""
    domain = get_domain(task.domain)
    return CellScore(
        task_id=task.id,
        trial=trial,
        value=0.0,
        success=False if domain.success else None,
        official=0.0 if "official" in domain.modes else None,
        turns=0,
        answered=False,
        agent_words=0,
        human_words=0,
        failure=ABSENT,
    )


def scored_cell(rollout: Rollout, *, judges_turns: bool) -> CellScore | None:
    """Return the score of a judged cell; the value of a cell without an answer is 0.

    Returns None if the receiver's own scorer cannot judge the task. `judges_turns`: True if the scorer also scores
    each turn (`ProgressScorer`).
    """
    domain = get_domain(rollout.domain)
    score = rollout.scores.get("default")
    value = score.value if score else 0.0
    if value is None:
        return None
    answered = rollout.answer is not None
    by_turn = _by_turn(rollout, domain) if judges_turns and answered else ()
    return CellScore(
        task_id=rollout.task_id,
        trial=rollout.trial,
        value=_rounded(value, domain),
        success=score.success if score else (False if domain.success else None),
        official=_official(rollout, domain),
        turns=len(rollout.turns),
        answered=rollout.ended_by == "answer",
        agent_words=agent_words(rollout),
        human_words=human_words(rollout),
        agent_tokens=_tokens(rollout),
        failure="" if answered or not rollout.failure else rollout.failure.boundary,
        outcome=score.outcome if score else "",
        asking=_asking(rollout),
        by_turn=tuple(by_turn),
    )


def _asking(rollout: Rollout) -> dict[str, float]:
    """Return those measures in `ASKING` that are defined for a dialogue's questions."""
    found = measured(rollout.asking)
    values = {name: found[name] for name in ASKING}
    return {name: round(value, DIGITS) for name, value in values.items() if value is not None}


def _official(rollout: Rollout, domain: Domain) -> float | None:
    score = rollout.scores.get("official")
    if score is None:
        return 0.0 if "official" in domain.modes else None
    return None if score.value is None else _rounded(score.value, domain)


def _rounded(value: float, domain: Domain) -> float:
    digits = domain.primary.digits
    return value if digits is None else round(value, digits)


def _by_turn(rollout: Rollout, domain: Domain) -> Iterator[float]:
    """Yield, for each turn, the value of the latest scored answer so far; 0 before the first scored answer."""
    latest = 0.0
    for turn in rollout.turns:
        if turn.score and turn.score.value is not None:
            latest = turn.score.value
        yield _rounded(latest, domain)


def _tokens(rollout: Rollout) -> int | None:
    """Return the number of the agent's prompt and completion tokens.

    Return None if the dialogue has no turns, or if the usage of any turn is unknown.
    """
    usages = [turn.agent_usage for turn in rollout.turns]
    known = [usage for usage in usages if usage]
    if not known or len(known) < len(usages):
        return None
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in known)


def summarize(
    cells: Sequence[CellScore],
    *,
    domain: str,
    trials: int,
    max_turns: int,
    undisclosed: Iterable[Sequence[float]],
) -> Summary:
    """Summarize `cells`, which must be sorted by task; `undisclosed` has each task's shares (`Disclosure.share`)."""
    rows = [list(row) for _, row in groupby(cells, key=lambda cell: cell.task_id)]
    primary, success = get_domain(domain).primary, get_domain(domain).success
    digits = DIGITS if primary.digits is None else primary.digits

    def mean(measure: Measure, bounds: tuple[float, float] | None = None) -> Estimate:
        return _estimate([[measure(cell) for cell in row] for row in rows], bounds, digits)

    def average(measure: Measure) -> float:
        means = [sum(map(measure, row)) / len(row) for row in rows]
        return round(sum(means) / len(means), digits) if means else 0.0

    def asked(name: str) -> list[list[float]]:
        return [[cell.asking[name] for cell in row if name in cell.asking] for row in rows]

    shares = [share for share in undisclosed if share]
    by_turn = _success_by if success else _value_by
    return Summary(
        domain=domain,
        tasks=len(rows),
        trials=trials,
        value=mean(lambda cell: cell.value, primary.bounds),
        success=mean(lambda cell: float(bool(cell.success)), success.bounds) if success else None,
        pass_k=_pass_k(rows, trials, digits) if success else (),
        turns=mean(lambda cell: cell.turns),
        agent_words=mean(lambda cell: cell.agent_words),
        human_words=mean(lambda cell: cell.human_words),
        answered=average(lambda cell: float(cell.answered)),
        asking={
            name: _estimate(found, (0.0, 1.0), DIGITS)
            for name in ASKING
            if any(found := asked(name))
        },
        success_by_turn=tuple(average(by_turn(turn)) for turn in range(1, max_turns + 1)),
        undisclosed=_estimate(shares, (0.0, 1.0), digits).mean if shares else None,
    )


def _success_by(turn: int) -> Measure:
    """Return the measure that is 1 for a cell that had succeeded by `turn`, otherwise 0."""
    return lambda cell: float(bool(cell.success) and cell.turns <= turn)


def _value_by(turn: int) -> Measure:
    """Return a measure: the value that a trial would have if its dialogue had ended at `turn`."""

    def value(cell: CellScore) -> float:
        if cell.by_turn:
            return cell.by_turn[min(turn, len(cell.by_turn)) - 1]
        return cell.value if cell.turns <= turn else 0.0

    return value


def _pass_k(rows: Rows, trials: int, digits: int) -> tuple[float, ...]:
    successes = [[bool(cell.success) for cell in row] for row in rows]
    means = (pass_k(successes, k).mean for k in range(1, trials + 1))
    return tuple(round(mean or 0.0, digits) for mean in means)


def _estimate(
    clusters: Sequence[Sequence[float]], bounds: tuple[float, float] | None, digits: int
) -> Estimate:
    found = mean_interval(clusters, bounds)
    mean = found.mean or 0.0
    low = mean if found.low is None else found.low
    high = mean if found.high is None else found.high
    return Estimate(mean=round(mean, digits), low=round(low, digits), high=round(high, digits))
