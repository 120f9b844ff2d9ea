"""The benchmark's page: the text of `page.md`, with each `{{ … }}` replaced by a part computed from the results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from colbench.numbers import bare_percent, count, percent, percent_with_range
from colbench.stats import Interval
from sweet_rl_trainer import figures
from sweet_rl_trainer.creditbench.agreement import Agreement
from sweet_rl_trainer.creditbench.beliefs import MOST_DESIGNS
from sweet_rl_trainer.creditbench.collect import LIMITS
from sweet_rl_trainer.creditbench.data import FULL, QUICK, frozen_sets
from sweet_rl_trainer.creditbench.estimators.groups import WEIGHT
from sweet_rl_trainer.creditbench.plot import SHOWN, draw
from sweet_rl_trainer.creditbench.results import Results
from sweet_rl_trainer.creditbench.truths import COST, MAIN, TRUTHS

PAGE, PARTS, PICTURE = "credit-bench.md", "credit-bench", "estimators"
"""File name of the page, name of the folder next to it, and name of the picture in that folder."""
CHANCE = 0.5
TITLE = "Estimators of turn credit against exact advantages"
ABOUT_KINDS = {
    "relevant": "questions that make the human reveal an open decision, one for each open decision",
    "redundant": "questions about a known decision",
    "unanswerable": "questions that concern no decision",
    "answer": "the best answers given what is known",
    "wrong answer": "the best answers, but with another choice for one known decision",
}
SYMBOLS = {
    "o": "the dialogue before the candidate",
    "o′": "the dialogue after the candidate and the human's reply",
    "o₁": "the request alone",
    "a": "the candidate",
    "L": "the candidate's number of tokens",
    "b": "the best answer after the human's reply",
    "c": "the hidden reference",
    "f": "the request with every hidden decision",
    "R": "the share of tests that the answer passes",
    "κ": "the cost of a question",
    "w": f"the weight of `Φ` ({WEIGHT:g}, the default of `grpo.train.facts_weight`)",
    "π": "the probability under the model of `--policy`",
    "ρ": "the logarithm of a token's probability under the critic, minus that under the model of `--policy`",
    "v": "the value that a critic with a value head gives a token",
}
"""Meanings of the symbols in the formulas (in backticks) of the estimators' descriptions."""


def write_page(results: Results, folder: Path) -> None:
    """Write the page and its picture."""
    (folder / PARTS).mkdir(exist_ok=True)
    figures.save(draw(results), folder / PARTS / PICTURE, TITLE)
    (folder / PAGE).write_text(page(results), "utf-8")


def page(results: Results) -> str:
    """Return the page."""
    template = files("sweet_rl_trainer.creditbench").joinpath("page.md").read_text("utf-8")
    parts = _parts(results)
    text = re.sub(r"\{\{ (.+?) \}\}", lambda place: parts[place[1]], template)
    return re.sub(r"\n{3,}", "\n\n", text)


def _parts(results: Results) -> Mapping[str, str]:
    selection, counts = results.selection, results.counts
    full = next(each for each in frozen_sets() if each.selection == FULL)
    agreements = {each.name: each.agreements for each in results.estimators}
    return {
        "command": f"`{results.command}`",
        "version": results.version,
        "data": (
            f"{count(counts.states, 'state')} (unfinished dialogues) of {count(counts.tasks, 'task')} of "
            f"{count(counts.families, 'family', 'families')}, and "
            f"{sum(counts.candidates.values()):,} candidates (possible next messages)"
            + (
                f"; these are the data of the [frozen set](#run-it) `{results.frozen}`"
                if results.frozen
                else ""
            )
        ),
        "models": ", ".join(f"{name} `{each[:12]}`" for name, each in results.models.items())
        or "none",
        "picture": f"![{TITLE}; the numbers are in the table]({PARTS}/{PICTURE}.svg)",
        MAIN: _table({name: each[MAIN] for name, each in agreements.items()}),
        "found": "\n".join(_found(results)),
        "left out": _left_out(results),
        "common": _common(results),
        "source": selection.source,
        "most designs": f"{MOST_DESIGNS:,}",
        "dialogues": str(selection.dialogues),
        "limits": f"{', '.join(map(str, LIMITS[:-1]))} and {LIMITS[-1]}",
        "candidates": "\n".join(
            f"- {counts.candidates.get(kind, 0):,} `{kind}`: {about}"
            for kind, about in ABOUT_KINDS.items()
        ),
        "cost": f"{COST:g}",
        "validation": _validation(results),
        "other truths": _other_truths(agreements),
        "estimators": _rows(
            ("estimator", "score of a candidate", "CPU-seconds"),
            [(each.name, each.about, f"{each.seconds:,.0f}") for each in results.estimators],
        ),
        "symbols": _symbols([each.about for each in results.estimators]),
        "quick": str(QUICK.tasks),
        "states sha": full.states_sha256,
        "truths sha": full.truths_sha256,
    }


def _found(results: Results) -> Iterator[str]:
    """Yield a line for each panel: the best estimator, and the estimators that are not better than chance."""
    for measure, title in SHOWN.items():
        known = [
            (each.name, each.agreements[MAIN].measures[measure])
            for each in results.estimators
            if measure in each.agreements[MAIN].measures
        ]
        best, share = max(known, key=lambda each: each[1].mean or 0.0)
        below = [name for name, each in known if each.high is not None and each.high < CHANCE]
        open_ = [
            name
            for name, each in known
            if each.low is not None and each.high is not None and each.low <= CHANCE <= each.high
        ]
        said = f"- **{title.capitalize()}**: the best estimator is *{best}*, {percent_with_range(share)}."
        said += f" Not distinguished from chance: {_named(open_)}." if open_ else ""
        yield said + (f" Below chance: {_named(below)}." if below else "")


def _named(names: Iterable[str]) -> str:
    return "; ".join(f"*{name}*" for name in names)


def _table(agreements: Mapping[str, Agreement]) -> str:
    """Return the measures of each estimator, with intervals."""
    head = ("estimator", *SHOWN.values(), "Spearman", "lost, points", "states")
    rows = [
        (
            name,
            *(_share(each.measures.get(measure)) for measure in SHOWN),
            _number(each.measures.get("spearman")),
            _share(each.measures.get("regret")),
            f"{each.states:,}",
        )
        for name, each in agreements.items()
    ]
    return _rows(head, rows)


def _common(results: Results) -> str:
    """Return the table of all estimators, restricted to the states that a model has read; "" if no model read any."""
    found = {each.name: each.common for each in results.estimators if each.common}
    if not found:
        return ""
    tasks, states = results.read
    return (
        f"Models score only {count(states, 'state')} of {count(tasks, 'task')}. On these states, the estimators "
        "compare as follows:\n\n" + _table(found)
    )


def _other_truths(agreements: Mapping[str, Mapping[str, Agreement]]) -> str:
    """Return a sentence about the widest interval, then a table of the shares of correctly ordered pairs.

    The table has a row for each estimator and a column for each truth.
    """
    found = {
        name: [by_truth[truth].measures.get("pairs") for truth in TRUTHS]
        for name, by_truth in agreements.items()
    }
    rows = [(name, *(bare_percent(_mean_of(each)) for each in row)) for name, row in found.items()]
    widest = max((_reach(each) for row in found.values() for each in row), default=0.0)
    return (
        "The table shows the percentage of candidate pairs that each estimator orders correctly. "
        f"The 95% intervals, not shown here, extend at most {widest * 100:.1f} points in either direction.\n\n"
        + _rows(("estimator", *(f"`{truth}`" for truth in TRUTHS)), rows)
    )


def _left_out(results: Results) -> str:
    reasons: dict[str, list[str]] = {}
    for each in results.left_out:
        reasons.setdefault(each.reason, []).append(each.name)
    return "\n".join(
        f"Estimators left out ({why}): {'; '.join(names)}." for why, names in reasons.items()
    )


def _validation(results: Results) -> str:
    found = results.validation
    if found is None:
        return ""
    return (
        f"We took {count(found.questions, 'question')} from {count(found.states, 'state')}. After each question, the "
        "demonstrators' policy finished the dialogue with the rule-based human many times, until the 95% "
        f"interval of the question's mean reward was at most ±{found.half_width * 100:.2f} points "
        f"({found.continuations:,} dialogues in all). "
        f"{percent_with_range(found.covered)} of these intervals contain the exact value of `hindsight tests`, "
        f"and the greatest difference between a mean and the exact value is {found.difference * 100:.2f} points."
    )


def _symbols(descriptions: Sequence[str]) -> str:
    """Return the meanings of the symbols that occur in the formulas of the given descriptions."""
    formulas = " ".join(re.findall(r"`(.+?)`", " ".join(descriptions)))
    used = set(re.findall(r"\w+′?", formulas))
    meanings = "; ".join(f"`{each}`: {what}" for each, what in SYMBOLS.items() if each in used)
    return f"Symbols: {meanings}." if meanings else ""


def _share(interval: Interval | None) -> str:
    """Return a mean and its interval in percent, in the form `42.3 (39.1–45.4)`."""
    if interval is None or interval.mean is None:
        return "–"
    return f"{bare_percent(interval.mean)} ({bare_percent(interval.low)}–{bare_percent(interval.high)})"


def _number(interval: Interval | None) -> str:
    """Return a mean and its interval in the form `0.42 (0.39 to 0.45)`."""
    if interval is None or interval.mean is None:
        return "–"
    low, high = (0.0 if end is None else end for end in (interval.low, interval.high))
    return f"{interval.mean:.2f} ({low:.2f} to {high:.2f})"


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(results: Results) -> str:
    """Return a line for each estimator: its `auc` (see `agreement`), and its share of correctly ordered pairs."""
    return "\n".join(
        f"{each.name:32} relevant above useless {percent(_mean(each.agreements[MAIN], 'auc')):>7}   "
        f"all pairs {percent(_mean(each.agreements[MAIN], 'pairs')):>7}"
        for each in results.estimators
    )


def _mean(agreement: Agreement, measure: str) -> float | None:
    return _mean_of(agreement.measures.get(measure))


def _mean_of(interval: Interval | None) -> float | None:
    return interval.mean if interval else None


def _reach(interval: Interval | None) -> float:
    """Return the distance from the mean of an interval to its farther end; 0 without an interval."""
    if interval is None or interval.mean is None or interval.low is None or interval.high is None:
        return 0.0
    return max(interval.mean - interval.low, interval.high - interval.mean)
