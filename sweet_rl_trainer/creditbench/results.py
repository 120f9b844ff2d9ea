"""The results of a run of the benchmark, stored in `results.json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from colbench.stats import Interval, mean_interval
from sweet_rl_trainer.creditbench.agreement import Agreement
from sweet_rl_trainer.creditbench.data import Selection
from sweet_rl_trainer.creditbench.on_policy import TaskValues
from sweet_rl_trainer.creditbench.states import Bench
from sweet_rl_trainer.creditbench.truths import HINDSIGHT

RESULTS = "results.json"


class EstimatorResult(Struct, frozen=True, kw_only=True):
    """The result of one estimator."""

    name: str
    about: str
    agreements: dict[str, Agreement]
    """Agreement by truth (`truths`): all measures for `truths.MAIN`, only `pairs` for the other truths."""
    common: Agreement | None
    """Agreement with `truths.MAIN` on the states that models read; None if no model read any."""
    seconds: float
    """CPU seconds that computing the scores took."""


class LeftOut(Struct, frozen=True, kw_only=True):
    """The name of an estimator without scores, and the reason why the scores are missing."""

    name: str
    reason: str


class Validation(Struct, frozen=True, kw_only=True):
    """A comparison of Monte-Carlo values with exact values."""

    states: int
    questions: int
    continuations: int
    half_width: float
    """Half-width of the widest interval."""
    covered: Interval
    """The share of questions whose exact value is within the 95% interval of the Monte-Carlo value."""
    difference: float
    """The greatest difference between a Monte-Carlo value and the exact value."""


class Counts(Struct, frozen=True, kw_only=True):
    """The numbers of tasks, families, states and candidates."""

    tasks: int
    families: int
    states: int
    candidates: dict[str, int]
    """Number of candidates by kind."""


class Results(Struct, frozen=True, kw_only=True):
    """All results of a run."""

    version: str
    command: str
    selection: Selection
    frozen: str
    """The name of the frozen set that was used; empty if the selection is not a frozen set."""
    states_sha256: str
    truths_sha256: str
    counts: Counts
    models: dict[str, str]
    """The digest of each model's weights, by the model's name on the command line."""
    read: tuple[int, int]
    """Number of tasks, and number of states, that models read.

    Without models, these are the numbers that models would read.
    """
    estimators: tuple[EstimatorResult, ...]
    left_out: tuple[LeftOut, ...]
    validation: Validation | None


def counts_of(benches: Sequence[Bench]) -> Counts:
    """Return the numbers of tasks, families, states and candidates."""
    kinds: dict[str, int] = {}
    for bench in benches:
        for state in bench.states:
            for each in state.candidates:
                kinds[each.kind] = kinds.get(each.kind, 0) + 1
    return Counts(
        tasks=len(benches),
        families=len({bench.task.family for bench in benches}),
        states=sum(len(bench.states) for bench in benches),
        candidates=kinds,
    )


def validation_of(benches: Iterable[Bench], values: Iterable[TaskValues]) -> Validation:
    """Return a comparison of Monte-Carlo values with the exact values of the truth `hindsight tests`."""
    truth = f"{HINDSIGHT} tests"
    covered, differences, widths = [], [], []
    states, continuations = set[str](), 0
    for bench, found in zip(benches, values, strict=True):
        exact = {
            state.id: truths.candidates[truth]
            for state, truths in zip(bench.states, bench.truths, strict=True)
        }
        gaps = [abs(each.mean - exact[each.state][each.candidate]) for each in found.values]
        covered.append(
            [
                float(gap <= each.half_width + 1e-6)
                for gap, each in zip(gaps, found.values, strict=True)
            ]
        )
        differences += gaps
        widths += [each.half_width for each in found.values]
        continuations += sum(each.continuations for each in found.values)
        states |= {each.state for each in found.values}
    return Validation(
        states=len(states),
        questions=len(differences),
        continuations=continuations,
        half_width=max(widths),
        covered=mean_interval(covered),
        difference=max(differences),
    )


def write(results: Results, folder: Path) -> None:
    """Write `results.json` atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{RESULTS}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
    part.rename(folder / RESULTS)


def read(path: Path) -> Results:
    """Return the results in a file."""
    found: Results = msgspec.json.decode(path.read_bytes(), type=Results)
    return found
