"""What a study was to have and has not yet, and what it was never to have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

from sweet_rl_trainer.study.first.methods import NAMED, RETURNS, Method
from sweet_rl_trainer.study.first.results import Results
from sweet_rl_trainer.study.first.tables import full_label, on_tests, planned
from sweet_rl_trainer.study.text import escape, listed


def missing(results: Results) -> Iterator[str]:
    """Yield the missing rows, and the missing parts of existing rows, as Markdown."""
    members = planned(results)
    tests = {each.name: set(on_tests(results, each.name)) for each in members}
    if none := [each for each in members if not tests[each.name]]:
        yield f"on the test tasks: {_labels(none)}"
    yield from _seeds(results, members, tests)
    judged = {(each.method, each.seed) for each in results.critics}
    actors = [each for each in members if each.goal == "actor"]
    if unjudged := [each for each in actors if not _places(each, tests) <= judged]:
        yield f"critics: {_labels(unjudged)}"
    yield from _scaled(results)
    yield from _exchanged(results, tests)
    credited = {each.method for each in results.credits} | {RETURNS}
    uncredited = [each for each in actors if each.name not in credited]
    if RETURNS in tests and uncredited:
        yield f"credit turn by turn: {_labels(uncredited)}"
    if not results.costs:
        yield "time and memory"


def absent(results: Results) -> set[str]:
    """Return the tables (`report.markdown`) that this study's settings leave out."""
    study, names = results.study, {each.name for each in planned(results)}
    out = {
        "scaled": not study.get("scaling", True),
        "exchanged": "exchanged" in study and len(study["exchanged"]) < 2,
        "credited": RETURNS not in names,
        "followed": RETURNS not in names,
    }
    return {name for name, left_out in out.items() if left_out}


def _labels(methods: Iterable[Method]) -> str:
    return escape("; ".join(map(full_label, methods)))


def _places(method: Method, tests: dict[str, set[int]]) -> set[tuple[str, int]]:
    """Return the rows whose critics are due: each existing row, or else the first one."""
    return {(method.name, seed) for seed in tests[method.name] or {0}}


def _seeds(
    results: Results, members: Iterable[Method], tests: dict[str, set[int]]
) -> Iterator[str]:
    """Yield the missing seeds of methods that have some."""
    seeds = {row.seed for row in results.rows if row.test}
    for each in members:
        repeated = results.study.get("repeated", [each.group])
        wanted = seeds if {each.group, each.name} & {*repeated} else {*sorted(seeds)[:1]}
        if tests[each.name] and (lacking := sorted(wanted - tests[each.name])):
            noun = "seed" if len(lacking) == 1 else "seeds"
            yield f"{_labels([each])}: {noun} {listed([str(seed) for seed in lacking])}"


def _scaled(results: Results) -> Iterator[str]:
    there = {(each.method, each.share) for each in results.scaling if each.test}
    lacking = [
        f"{full_label(NAMED[name])} ({share * 100:g} %)"
        for name in results.study.get("scaling", [])
        for share in results.study.get("shares", [])
        if (name, share) not in there
    ]
    if lacking:
        yield f"less data: {escape('; '.join(lacking))}"


def _exchanged(results: Results, tests: dict[str, set[int]]) -> Iterator[str]:
    there = {(each.asker, each.writer, each.seed) for each in results.exchanges}
    wanted = {
        (asker, writer, seed)
        for asker, writer in permutations(results.study.get("exchanged", []), 2)
        for seed in tests.get(asker, set()) & tests.get(writer, set())
    }
    if lacking := wanted - there:
        yield f"answers exchanged: {len(lacking)} of {len(wanted)}"
