"""The numbers of the report that form curves: along training, by amount of data, by turns; and the cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from colbench.stats import Interval
from sweet_rl_trainer.study.first.choose import best_step
from sweet_rl_trainer.study.first.methods import METHODS, Method
from sweet_rl_trainer.study.first.results import Cost, Outcome, Results, Row, Step, Try
from sweet_rl_trainer.study.first.tables import (
    BySeed,
    Found,
    Measure,
    find,
    interval,
    mean,
    on_tests,
    reply_tokens,
    rows_of,
    success,
    turns,
    unanswered,
)

Summary = Callable[[Sequence[Outcome]], float]


def chosen(row: Row) -> tuple[Step, ...]:
    """Return the evaluated steps of a row's chosen learning rate; nothing for the base."""
    curves = [each.curve for each in row.tries if each.rate == row.rate]
    return tuple(step for step in curves[0] if step.outcomes) if curves else ()


def curves_of(results: Results, method: str) -> dict[int, tuple[Step, ...]]:
    """Return the training curves of a method by seed, without seeds that were not trained."""
    found = {row.seed: chosen(row) for row in rows_of(results, method)}
    return {seed: curve for seed, curve in found.items() if len(curve) > 1}


def _over_tasks(measure: Measure) -> Summary:
    return lambda outcomes: mean(outcomes, measure)


MEASURES: dict[str, Summary] = {
    "success, %": _over_tasks(success),
    "turns": _over_tasks(turns),
    "unanswered, %": _over_tasks(unanswered),
    "tokens of a reply": lambda outcomes: reply_tokens(outcomes) or 0.0,
}
"""What is followed along training; those in per cent are shares here."""


class Mean(Struct, frozen=True, kw_only=True):
    """All seeds after so many optimizer steps."""

    step: int
    success: Interval
    values: dict[str, float]
    """By the names of `MEASURES`."""


def mean_curve(curves: Mapping[int, tuple[Step, ...]]) -> list[Mean]:
    """Return the mean over seeds at each step at which all seeds were evaluated."""
    by_step = [{step.step: step for step in curve} for curve in curves.values()]
    common = set.intersection(*(set(each) for each in by_step)) if by_step else set()
    found = []
    for step in sorted(common):
        outcomes = [outcome for seed in by_step for outcome in seed[step].outcomes]
        values = {name: summary(outcomes) for name, summary in MEASURES.items()}
        found.append(Mean(step=step, success=interval(outcomes, success), values=values))
    return found


class Ends(Struct, frozen=True, kw_only=True):
    """A method on the validation tasks at three places of its training, over seeds."""

    first: Found
    """After the fewest steps that were evaluated."""
    chosen: Found
    last: Found
    steps: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    """Of each seed, at the three places."""


def ends(results: Results, method: str) -> Ends | None:
    """Return the first, the chosen and the last checkpoints of a method's trainings.

    None if none of them was evaluated, or none at its chosen checkpoint.
    """
    curves = curves_of(results, method)
    places: dict[int, tuple[Step, Step, Step]] = {}
    for row in rows_of(results, method):
        steps = {step.step: step for step in curves.get(row.seed, ())}
        if row.step in steps:
            ordered = curves[row.seed]
            places[row.seed] = (ordered[1], steps[row.step], ordered[-1])
    found = [
        find({seed: each[place].outcomes for seed, each in places.items()}) for place in range(3)
    ]
    first, best, last = found
    if not (first and best and last):
        return None
    one, two, three = (tuple(each[n].step for each in places.values()) for n in range(3))
    return Ends(first=first, chosen=best, last=last, steps=(one, two, three))


class Place(Struct, frozen=True, kw_only=True):
    """A checkpoint on the validation tasks."""

    step: int
    success: float
    unanswered: float


class Attempt(Struct, frozen=True, kw_only=True):
    """One training with one learning rate, on the validation tasks."""

    method: Method
    seed: int
    rate: float
    tokens: int
    first: Place
    """After the fewest steps that were evaluated; the base, where none was trained."""
    best: Place
    """That which the rule chooses (`choose`)."""
    last: Place
    chosen: bool


def attempts(results: Results) -> list[Attempt]:
    """Return all trainings of all rows in the order of the methods, without the base, which has none."""
    return [
        _attempt(method, row, each)
        for method in METHODS
        if method.goal
        for row in rows_of(results, method.name)
        for each in sorted(row.tries, key=lambda each: each.rate)
        if each.curve and all(step.outcomes for step in each.curve)
    ]


def _attempt(method: Method, row: Row, tried: Try) -> Attempt:
    return Attempt(
        method=method,
        seed=row.seed,
        rate=tried.rate,
        tokens=tried.tokens,
        first=_place(tried.curve[:2][-1]),
        best=_place(best_step(tried)),
        last=_place(tried.curve[-1]),
        chosen=tried.rate == row.rate,
    )


def _place(step: Step) -> Place:
    return Place(
        step=step.step,
        success=mean(step.outcomes, success),
        unanswered=mean(step.outcomes, unanswered),
    )


class Share(Struct, frozen=True, kw_only=True):
    """A method that learnt from a part of the training tasks, on the test tasks."""

    share: float
    tasks: int | None
    """Learnt from; None: all."""
    found: Found


def scaling(results: Results) -> dict[str, list[Share]]:
    """Return each method's curve over the share of tasks, from the smallest share to the rows with all tasks.

    The seeds are the same along a curve. Methods without a curve are left out.
    """
    return {method.name: curve for method in METHODS if (curve := _shares(results, method.name))}


def _shares(results: Results, method: str) -> list[Share]:
    groups: dict[float, dict[int, tuple[Outcome, ...]]] = {}
    tasks: dict[float, int | None] = {1.0: None}
    for each in results.scaling:
        if each.method == method and each.test:
            groups.setdefault(each.share, {})[each.seed] = each.test
            tasks[each.share] = each.tasks
    if not groups:
        return []
    seeds = {seed for group in groups.values() for seed in group}
    whole = on_tests(results, method)
    groups.setdefault(1.0, {seed: whole[seed] for seed in whole if seed in seeds})
    found = [(share, find(groups[share])) for share in sorted(groups)]
    return [Share(share=share, tasks=tasks[share], found=each) for share, each in found if each]


def by_turns(by_seed: BySeed) -> dict[int, tuple[int, int]]:
    """Return the number of dialogues for each number of turns, and how many of them succeeded."""
    found: dict[int, tuple[int, int]] = {}
    for outcomes in by_seed.values():
        for each in outcomes:
            dialogues, successes = found.get(each.turns, (0, 0))
            found[each.turns] = (dialogues + 1, successes + each.success)
    return dict(sorted(found.items()))


class Spent(Struct, frozen=True, kw_only=True):
    """What the runs of a stage took."""

    stage: str
    seconds: tuple[float, ...]
    """Of each run, the shortest first."""
    memory: int | None
    """Bytes, the most of any run."""


def spent(costs: Iterable[Cost]) -> list[Spent]:
    """Return the costs by stage, in the order in which stages first appear."""
    groups: dict[str, list[Cost]] = {}
    for each in costs:
        groups.setdefault(each.stage, []).append(each)
    return [
        Spent(
            stage=stage,
            seconds=tuple(sorted(each.seconds for each in group)),
            memory=max((each.memory for each in group if each.memory is not None), default=None),
        )
        for stage, group in groups.items()
    ]
