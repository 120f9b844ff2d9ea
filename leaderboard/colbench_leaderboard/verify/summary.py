"""The numbers of an entry, from its cells: the mean over trials, then over tasks, with intervals by task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from colbench.stats import Estimate, mean_interval, pass_k
from colbench_leaderboard.receipt import FRONTEND_DIGITS, CellScore, Summary

DIGITS = 6
"""Decimals of a backend number; what the order of a sum on another machine moves is far less."""

Rows = list[list[CellScore]]
"""One for each task."""


def summarise(
    cells: Sequence[CellScore],
    *,
    domain: str,
    trials: int,
    max_turns: int,
    undisclosed: Iterable[Sequence[float]],
) -> Summary:
    """The summary of cells that are sorted by task; `undisclosed` holds a sequence of shares for each task."""
    rows = [list(row) for _, row in groupby(cells, key=lambda cell: cell.task_id)]
    digits = FRONTEND_DIGITS if domain == "frontend" else DIGITS
    backend = domain == "backend"

    def mean(measure: Callable[[CellScore], float], *, least: float | None) -> Estimate:
        bounds = None if least is None else (least, 1.0)
        return _estimate([[measure(cell) for cell in row] for row in rows], bounds, digits)

    def average(measure: Callable[[CellScore], float]) -> float:
        means = [sum(map(measure, row)) / len(row) for row in rows]
        return round(sum(means) / len(means), digits) if means else 0.0

    shares = [share for share in undisclosed if share]
    return Summary(
        domain=domain,
        tasks=len(rows),
        trials=trials,
        value=mean(lambda cell: cell.value, least=0.0 if backend else -1.0),
        success=mean(lambda cell: float(bool(cell.success)), least=0.0) if backend else None,
        pass_k=_pass_k(rows, trials) if backend else (),
        turns=mean(lambda cell: cell.turns, least=None),
        agent_words=mean(lambda cell: cell.agent_words, least=None),
        human_words=mean(lambda cell: cell.human_words, least=None),
        answered=average(lambda cell: float(cell.answered)),
        success_by_turn=tuple(average(_by(turn, domain)) for turn in range(1, max_turns + 1)),
        undisclosed=_estimate(shares, (0.0, 1.0), digits).mean if shares else None,
    )


def _by(turn: int, domain: str) -> Callable[[CellScore], float]:
    """What a cell had come to by a turn."""

    def succeeded(cell: CellScore) -> float:
        return float(bool(cell.success) and cell.turns <= turn)

    def shown(cell: CellScore) -> float:
        return cell.by_turn[min(turn, len(cell.by_turn)) - 1] if cell.by_turn else 0.0

    return succeeded if domain == "backend" else shown


def _pass_k(rows: Rows, trials: int) -> tuple[float, ...]:
    successes = [[bool(cell.success) for cell in row] for row in rows]
    means = (pass_k(successes, k).mean for k in range(1, trials + 1))
    return tuple(round(mean or 0.0, DIGITS) for mean in means)


def _estimate(
    clusters: Sequence[Sequence[float]], bounds: tuple[float, float] | None, digits: int
) -> Estimate:
    found = mean_interval(clusters, bounds)
    mean = found.mean or 0.0
    low = mean if found.low is None else found.low
    high = mean if found.high is None else found.high
    return Estimate(mean=round(mean, digits), low=round(low, digits), high=round(high, digits))
