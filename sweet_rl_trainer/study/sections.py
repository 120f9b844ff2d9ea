"""The other tables of the report, each as Markdown; None where there is no number yet."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from colbench.numbers import NOTHING, duration, memory, number, percent, percent_with_range, signed
from sweet_rl_trainer.study.curves import attempts, by_turns, ends, scaling, spent
from sweet_rl_trainer.study.judges import (
    Judge,
    distinct,
    distinct_timings,
    first_of_equals,
    judges,
    shown,
)
from sweet_rl_trainer.study.methods import METHODS, NAMED, QUESTIONS
from sweet_rl_trainer.study.results import KINDS, Credit, Results
from sweet_rl_trainer.study.tables import full_label, on_tests, side
from sweet_rl_trainer.study.text import escape, listed, table


def trained(results: Results) -> str | None:
    """Return the success on validation tasks after the first steps, at the chosen checkpoint and at the end."""
    found = {each: ends(results, each) for each in NAMED}
    known = {name: each for name, each in found.items() if each}
    if not known:
        return None
    heads = (
        "method",
        "first steps: success ",
        "chosen: success ",
        "end: success ",
        "turns: first, chosen, end ",
        "unanswered: first, chosen, end ",
        "steps: first, chosen, end",
    )
    lines = []
    for name, each in known.items():
        places = (each.first, each.chosen, each.last)
        lines.append(
            [
                escape(full_label(NAMED[name])),
                *(percent_with_range(place.success) for place in places),
                ", ".join(number(place.turns) for place in places),
                ", ".join(percent(place.unanswered) for place in places),
                ", ".join(_by_seed(steps) for steps in each.steps),
            ]
        )
    return table(heads, lines)


def _by_seed(numbers: Sequence[int]) -> str:
    """Return the number of each seed, or one number if they are equal."""
    told = [f"{each:,}" for each in numbers]
    return told[0] if len(set(told)) == 1 else "/".join(told)


def tried(results: Results) -> str | None:
    """Return all trainings, and how many learning rates each method had."""
    found = attempts(results)
    if not found:
        return None
    rates = {
        each.method.name: len({one.rate for one in found if one.method.name == each.method.name})
        for each in found
    }
    numbers = sorted(set(rates.values()))
    if len(numbers) == 1:
        said = f"Learning rates tried: {numbers[0]} for each method."
    else:
        parts = [
            f"{n} for {listed([escape(full_label(NAMED[name])) for name in rates if rates[name] == n])}"
            for n in numbers
        ]
        said = f"Learning rates tried, **not as many for each**: {'; '.join(parts)}."
    heads = (
        "method",
        "seed ",
        "learning rate ",
        "tokens learnt from ",
        "first: success (step) ",
        "best ",
        "end ",
        "end: unanswered ",
        "chosen",
    )
    lines = [
        [
            escape(full_label(each.method)),
            str(each.seed),
            f"{each.rate:g}",
            f"{each.tokens:,}",
            *(
                f"{percent(place.success)} ({place.step:,})"
                for place in (each.first, each.best, each.last)
            ),
            percent(each.last.unanswered),
            "yes" if each.chosen else "",
        ]
        for each in found
    ]
    return f"{said}\n\n{table(heads, lines)}"


def judged(results: Results) -> str | None:
    """Return the table of critics, each once, with the first method that has it."""
    found = [(each, each.accuracy) for each in distinct(judges(results)) if each.accuracy]
    if not found:
        return None
    counts = sorted({n for each, _ in found for n, _ in each.best_of})
    heads = (
        "scores",
        "learnt from: pairs ",
        "pair accuracy (95 % interval) ",
        "against 50 %",
        "pairs ",
        "with equally many turns ",
        "score and turns ",
        *(f"best of {n} " for n in counts),
    )
    lines = []
    for each, accuracy in found:
        curve = dict(each.best_of)
        lines.append(
            [
                _sharing(each),
                _by_seed(each.learnt) if any(each.learnt) else NOTHING,
                shown(accuracy),
                side(*accuracy[1:], level=0.5),
                f"{each.pairs:,}",
                f"{shown(each.matched)} of {each.matched_pairs:,}" if each.matched else NOTHING,
                NOTHING if each.with_turns is None else signed(each.with_turns, 2),
                *(shown(curve[n]) if n in curve else NOTHING for n in counts),
            ]
        )
    return table(heads, lines)


def _sharing(each: Judge) -> str:
    others = [other.label.removeprefix("… ") for other in each.others]
    also = f" (the first seed's also: {'; '.join(others)})" if others else ""
    return escape(full_label(each.method) + also)


def timed(results: Results) -> str | None:
    """Return how often scores put an answer above another reply, by the number of hidden facts."""
    found = distinct_timings(judges(results))
    if not found:
        return None
    numbers = sorted({n for each in found for n, *_ in each.timing})
    lines = []
    for each in found:
        shares = {n: f"{shown(share)} of {turns:,}" for n, share, turns in each.timing}
        cells = (shares.get(n, NOTHING) for n in numbers)
        lines.append([escape(full_label(each.method)), *cells])
    return table(("scores of", *(f"{n} hidden " for n in numbers)), lines)


def credited(results: Results) -> str | None:
    """Return the agreement of scores of replies with returns, by kind."""
    by_method = {each.method: each for each in results.credits}
    ordered = [by_method[each] for each in (*NAMED, QUESTIONS.name) if each in by_method]
    lines = [
        [
            escape(full_label(NAMED.get(each.method, QUESTIONS))),
            *(_agreement(each, kind) for kind in KINDS),
        ]
        for each in first_of_equals(ordered, lambda each: each.agreements)
    ]
    return table(("scores of", *(f"{kind} " for kind in KINDS)), lines) if lines else None


def _agreement(credit: Credit, kind: str) -> str:
    found = {each.kind: each for each in credit.agreements}
    return f"{shown(found[kind].share)} of {found[kind].pairs:,}" if kind in found else NOTHING


def scaled(results: Results) -> str | None:
    """Return the success on the test tasks by the share of the training tasks."""
    heads = (
        "method",
        "share of the training tasks ",
        "tasks ",
        "success (95 % interval) ",
        "each seed ",
        "turns ",
        "unanswered ",
    )
    lines = [
        [
            escape(full_label(NAMED[name])),
            f"{each.share * 100:g} %",
            "all" if each.tasks is None else f"{each.tasks:,}",
            percent_with_range(each.found.success),
            " · ".join(f"{value * 100:.1f}" for value in each.found.seeds.values()),
            number(each.found.turns),
            percent(each.found.unanswered),
        ]
        for name, curve in scaling(results).items()
        for each in curve
    ]
    return table(heads, lines) if lines else None


def turned(results: Results) -> str | None:
    """Return the success on the test tasks by the number of turns of the dialogue."""
    tests = {each.name: on_tests(results, each.name) for each in METHODS}
    found = {name: by_turns(by_seed) for name, by_seed in tests.items() if by_seed}
    if not found:
        return None
    turns = sorted({n for counts in found.values() for n in counts})
    lines = []
    for name, counts in found.items():
        cells = [
            f"{percent(counts[n][1] / counts[n][0])} of {counts[n][0]:,}"
            if n in counts
            else NOTHING
            for n in turns
        ]
        lines.append([escape(full_label(NAMED[name])), *cells])
    return table(("method", *(f"{n} " for n in turns)), lines)


def costs(results: Results) -> str | None:
    """Return the time and memory of each stage."""
    found = spent(results.costs)
    if not found:
        return None
    heads = (
        "stage",
        "runs ",
        "time: shortest ",
        "median ",
        "longest ",
        "of all ",
        "memory, at most ",
    )
    lines = [
        [
            escape(each.stage),
            f"{len(each.seconds):,}",
            duration(each.seconds[0]),
            duration(median(each.seconds)),
            duration(each.seconds[-1]),
            duration(sum(each.seconds)),
            memory(each.memory),
        ]
        for each in found
    ]
    total = duration(sum(each.seconds for each in results.costs))
    most = max((each.memory or 0 for each in found), default=0)
    last = ["**all**", f"{len(results.costs):,}", *[NOTHING] * 3, total, memory(most or None)]
    return table(heads, [*lines, last])
