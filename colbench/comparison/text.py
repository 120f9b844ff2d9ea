"""Numbers and sentences of a comparison, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from colbench.comparison.model import (
    Comparison,
    Difference,
    DomainComparison,
    Group,
    Measure,
    Pair,
)
from colbench.numbers import (
    NO_INTERVAL,
    amount,
    bare_points,
    count,
    dollars,
    p_value,
    percent,
    percent_range,
    points_range,
    sentence,
    signed,
)
from colbench.stats import ALPHA, Interval
from colbench.stats.power import FEWEST

GROUPS: dict[Group, str] = {"answer": "Answer", "asking": "Asking", "effort": "Effort"}
"""The groups of measures in the order of reading, with their titles."""
NOTHING_SCORED = "no scored dialogue in common"
OUTCOMES = {
    "succeeded": "succeeded",
    "no_answer": "no answer",
    "crashed": "crashed",
    "guessed": "guessed",
    "ignored": "ignored",
    "wrong_code": "wrong code",
}
"""Outcomes of dialogues in words."""


def measured(measure: Measure, value: float | None) -> str:
    """Return a value in its unit: `42.3%`, `5.1`, `$0.0123`."""
    if measure.unit == "%":
        return percent(value)
    if measure.unit == "$":
        return dollars(value)
    return f"{amount(value, 2 if value and abs(value) < 1 else 1)} {measure.unit}".rstrip()


def measured_range(measure: Measure, interval: Interval) -> str:
    """Return the interval of a mean in the unit of its measure: `39.1 to 45.4%`."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    if measure.unit == "%":
        return percent_range(interval)
    return f"{measured(measure, interval.low)} to {measured(measure, interval.high)}"


def difference(measure: Measure, value: float) -> str:
    """Return a difference with its sign. A difference of shares is in percentage points, without the unit."""
    if measure.unit == "%":
        return bare_points(value)
    if measure.unit == "$":
        return ("−" if value < 0 else "+") + dollars(abs(value))
    return signed(value, 2 if abs(value) < 1 else 1)


def difference_range(measure: Measure, interval: Interval) -> str:
    """Return the interval of a difference: `−2.0 to −0.4`."""
    if interval.low is None or interval.high is None:
        return NO_INTERVAL
    if measure.unit == "%":
        return points_range(interval)
    return f"{difference(measure, interval.low)} to {difference(measure, interval.high)}"


def in_words(measure: Measure, value: float) -> str:
    """Return a difference for a sentence: `+3.0 points`, `+5.1`."""
    return difference(measure, value) + (" points" if measure.unit == "%" else "")


def with_information(domain: DomainComparison, pair: Pair) -> Iterator[tuple[Measure, Difference]]:
    """Yield the measures of a pair with their differences.

    Measures that are always 0 in both runs are left out, except the headline measure and the leading metric.
    """
    leading = (domain.headline, domain.value)
    for measure in domain.measures:
        found = pair.differences.get(measure.name)
        if found and (
            measure.name in leading or found.mine or found.theirs or found.won or found.lost
        ):
            yield measure, found


def labeled(domain: DomainComparison, measure: Measure, found: Difference) -> str:
    """Return the label of a measure, followed by the number of tasks in parentheses if some tasks lack the measure."""
    few = f" ({found.tasks:,})" if found.tasks < domain.tasks else ""
    return f"{measure.label}{few}"


def who_is_ahead(mine: str, theirs: str, pair: Pair) -> str:
    """Return the verdict on two runs as a sentence with the given names."""
    if pair.verdict == "not separable":
        return f"{mine} and {theirs} are not separable"
    return (
        f"{mine} is {pair.verdict} of {theirs}"
        if pair.verdict == "ahead"
        else f"{mine} is behind {theirs}"
    )


def evidence(domain: DomainComparison, pair: Pair) -> str:
    """Return the pair's difference in the headline measure as text, with its confidence interval and its test."""
    found = pair.differences.get(domain.headline)
    if found is None:
        return NOTHING_SCORED
    measure = domain.measure(domain.headline)
    by = f"{in_words(measure, found.mean.mean or 0.0)} in {measure.label}"
    sure = f"({difference_range(measure, found.mean)}), p {_p(found.test.adjusted)}"
    return f"{by} {sure} ({found.test.name}{_adjusted(domain)})"


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def _adjusted(domain: DomainComparison) -> str:
    return ", Holm-adjusted" if len(domain.pairs) > 1 else ""


def settling(domain: DomainComparison, pair: Pair) -> str:
    """State the smallest detectable difference, and the number of tasks needed to detect the observed difference.

    The text is empty if no dialogue can be compared.
    """
    found = pair.differences.get(domain.headline)
    if found is None:
        return ""
    if found.tasks < FEWEST:
        return f"With fewer than {FEWEST} tasks, no difference is detectable."
    if found.least_detectable is None:
        same = f"all {found.tasks:,} tasks have the same difference"
        return f"The smallest detectable difference is unknown, because {same}."
    measure = domain.measure(domain.headline)
    least = in_words(measure, found.least_detectable).removeprefix("+")
    text = f"With {count(found.tasks, 'task')} like these, a true difference of {least} is detected in 4 of 5 cases"
    seen = found.mean.mean or 0.0
    if found.test.adjusted <= ALPHA:
        return f"{text}."
    if found.tasks_needed is None:
        return f"{text}; no difference was observed."
    return f"{text}; a difference of {in_words(measure, abs(seen)).removeprefix('+')} needs {needs(found)}."


def needs(found: Difference) -> str:
    """Return the number of tasks, or of trials per task, that would make the difference detectable; "" if unknown."""
    if found.tasks_needed is None:
        return ""
    tasks = f"about {count(found.tasks_needed, 'task')}"
    if found.trials_needed is None:
        return tasks
    return f"{tasks}, or {count(found.trials_needed, 'trial')} of each of these"


def equal_results(domain: DomainComparison) -> str:
    """Return the sentence for a domain in which no task has different results."""
    if any(domain.value in pair.differences for pair in domain.pairs):
        return "Results are the same on every scored task."
    return f"{sentence(NOTHING_SCORED)}."


def failures(counts: Mapping[str, int]) -> str:
    """Return the number of dialogues with each outcome: `58 guessed, 1 wrong code`."""
    return ", ".join(f"{number:,} {OUTCOMES[name]}" for name, number in counts.items())


def reasons(comparison: Comparison, pair: Pair) -> Iterator[str]:
    """Yield a sentence for each run: how many dialogues only this run solved, and how the other run failed on them."""
    mine, theirs = comparison.runs[pair.mine].letter, comparison.runs[pair.theirs].letter
    for won, lost, failed in (
        (mine, theirs, pair.theirs_failed),
        (theirs, mine, pair.mine_failed),
    ):
        if failed:
            total = count(sum(failed.values()), "dialogue")
            yield f"Only {won} succeeded in {total}; outcomes of {lost} in these: {failures(failed)}."


def wins(found: Difference) -> str:
    """Return the numbers of tasks won, tied and lost: `59–1–0`."""
    return f"{found.won:,}–{found.tied:,}–{found.lost:,}"
